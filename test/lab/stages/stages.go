// Package stages holds what fake nodes and the pods on them do: kwok Stages, each "what
// matches me, after this delay, gets this patch".
//
// Every pod on a fake node matches exactly one stage at any time (stages_test.go says so
// to all states a pod can be in):
//
//	           waiting           start-after, not yet accepted
//	Pending ───────────► pod-wait    ──────────► pod-create
//	   │   ───────────► pod-reject  ──────────► Failed
//	   │   ───────────► pod-start-error ──────► pod-end
//	   │ otherwise
//	   ▼
//	pod-start ──► Running ──evict-in-two──► pod-evict ──► Failed ──► pod-exit
//	pod-start ──► Running ──run-for/exit-code──► pod-exit ──► pod-exit-sidecars ──► pod-end ──► Succeeded | Failed
//
//	ended, and its own restartPolicy or restartPolicyRules start a container again in its pod: pod-restart ──► Running
//	ended so, and its start gate is closed: pod-rest, until the gate opens; pod-overdue ──► Failed with activeDeadlineSeconds
//	being deleted: pod-terminate ends its containers, pod-end if they have ended already; then pod-gone,
//	               pod-terminate-again if that was cut off, or pod-rest while never-terminate or a finalizer holds it
//	its image renamed while it runs: pod-rename starts the container again in its pod
//	marked as not ready while its node was silent: pod-ready-again, before all else
//	anything else: pod-rest
//
// Decisions:
//   - An end comes in the versions that kubelets write (recorded_test.go): an operator acts on the first one.
//   - A container behind a closed start gate stays as it ended. A kubelet shows it as waiting (CreateContainerConfigError) soon, with its end as
//     the last one: see test/nodes.
//   - pod-rest does nothing, in ten years. kwok keeps the last job it queued for a pod when
//     the pod changes and no stage matches any more, so a state without a stage would let
//     an outdated deletion or exit happen.
//   - Each patch carries the resourceVersion it was decided on. A job that was overtaken
//     (the pod is being deleted now) gets a conflict, and the newer state its own job.
//   - accepted-at, started-at, restarted-at and ended-at are annotations because the status' own times have full
//     seconds only: "run-for: 1s" would end after anything from 0 to 1 s.
//   - Whether a node is dead is a label to kwok (its label selector is watched by the API
//     server, so kwok sees the node vanish and stops its lease; an annotation that goes
//     away it does not notice) and an annotation to users. node-die and node-revive keep
//     the label in step. They name their resource "nodes", which kwok takes for a kind it
//     has no controller of its own for, so that they see the nodes that kwok let go, too.
package stages

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed *.yaml
var files embed.FS

// All returns every stage as one YAML stream, in the order of the files' names.
func All() ([]byte, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the stages: %w", err)
	}
	var stream []byte
	for _, name := range names {
		stage, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading stage %s: %w", name, err)
		}
		stream = append(append(stream, "---\n"...), stage...)
	}
	return stream, nil
}
