//go:build e2e

package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

const (
	elasticJob   = `spec: {framework: PyTorch, elastic: {minReplicas: 2, maxReplicas: 8}}`
	suspendedJob = `spec: {suspend: true}`
	otherImage   = `spec: {replicaSpecs: {Worker: {template: {spec: {containers: [{name: main, image: other}]}}}}}`
)

// changes says for a job (the good one, changed by from) and a change of it which sentence refuses it.
var changes = []struct{ name, from, change, refusal string }{
	{"suspending a job", `{}`, suspendedJob, ""},
	{"resuming a job", suspendedJob, `spec: {suspend: false}`, ""},
	{"changing a deadline", `{}`, `spec: {runPolicy: {activeDeadlineSeconds: 60}}`, ""},
	{
		"scaling a fixed job", `{}`, `spec: {replicaSpecs: {Worker: {replicas: 5}}}`,
		"replicas of a job that runs may change only for the Worker role of an elastic job: set elastic (minReplicas, maxReplicas) when creating the job, or suspend: true before scaling",
	},
	{"scaling a fixed job while it is suspended", suspendedJob, `spec: {replicaSpecs: {Worker: {replicas: 5}}}`, ""},
	{"scaling an elastic job", elasticJob, `spec: {replicaSpecs: {Worker: {replicas: 8}}}`, ""},
	{
		"scaling an elastic job beyond its bounds", elasticJob, `spec: {replicaSpecs: {Worker: {replicas: 9}}}`,
		"an elastic job needs replicaSpecs.Worker.replicas between elastic.minReplicas and elastic.maxReplicas",
	},
	{
		"changing a template while the job runs", `{}`, otherImage,
		"pod templates may change only while the job is suspended: set suspend: true first",
	},
	{ // the rule returns at once where the status was written, which only its own door allows
		"changing a template while the job runs, beside a status", `{}`, otherImage + "\n" + `status: {memory: {countedTime: "2026-01-05T12:00:00Z"}}`,
		"pod templates may change only while the job is suspended: set suspend: true first",
	},
	{"changing a template while the job is suspended", suspendedJob, otherImage, ""},
	{"changing a template and resuming at once", suspendedJob, `spec: {suspend: false, replicaSpecs: {Worker: {template: {metadata: {labels: {a: b}}}}}}`, ""},
	{"changing the framework", suspendedJob, `spec: {framework: Custom}`, "framework cannot change: create another job"},
	{"needing fewer pods at once", `spec: {scheduling: {gang: Native, minAvailable: 3}}`, `spec: {scheduling: {minAvailable: 2}}`, ""},
	{"needing all pods at once", `spec: {scheduling: {gang: Native, minAvailable: 3}}`, `spec: {scheduling: {minAvailable: null}}`, ""},
	{
		"changing the gang while the job runs", `spec: {scheduling: {gang: Native, minAvailable: 3}}`, `spec: {scheduling: {gang: Volcano, minAvailable: 2}}`,
		"scheduling may change only while the job is suspended, except minAvailable: set suspend: true first",
	},
	{
		"taking scheduling away while the job runs", `spec: {scheduling: {timeoutSeconds: 60}}`, `spec: {scheduling: null}`,
		"scheduling may change only while the job is suspended, except minAvailable: set suspend: true first",
	},
	{"changing managedBy", `{}`, `spec: {managedBy: example.com/other}`, "managedBy cannot change: create another job"},
	{"taking managedBy away", `{}`, `spec: {managedBy: null}`, "managedBy cannot change: create another job"},
	{
		"adding a role while the job runs", `{}`, `spec: {replicaSpecs: {PS: {template: POD}}}`,
		"roles may be added or removed only while the job is suspended: set suspend: true first",
	},
	{"adding a role while the job is suspended", suspendedJob, `spec: {replicaSpecs: {PS: {template: POD}}}`, ""},
	{
		"making a job elastic while it runs", `{}`, elasticJob,
		"elastic may change only while the job is suspended: set suspend: true first",
	},
	{
		"taking the ranks out of DNS while the job runs", `spec: {framework: PyTorch}`, `spec: {network: {dnsNames: Leader}}`,
		"network may change only while the job is suspended: set suspend: true first",
	},
	{"taking the ranks out of DNS while the job is suspended", `spec: {framework: PyTorch, suspend: true}`, `spec: {network: {dnsNames: Leader}}`, ""},
	{
		"giving an MPI job other slots while it runs", mpiJob, `spec: {mpi: {slotsPerWorker: 2}}`,
		"mpi may change only while the job is suspended: set suspend: true first",
	},
	{
		"taking mpi away while the job runs", `spec: {framework: MPI, mpi: {slotsPerWorker: 2}, replicaSpecs: {Launcher: {template: POD}}}`, `spec: {mpi: null}`,
		"mpi may change only while the job is suspended: set suspend: true first",
	},
	{
		"giving an MPI job other slots while it is suspended", `spec: {framework: MPI, suspend: true, replicaSpecs: {Launcher: {template: POD}}}`,
		`spec: {mpi: {slotsPerWorker: 2}}`, "",
	},
	{
		"removing a role while the job runs", `spec: {replicaSpecs: {PS: {template: POD}}}`, `spec: {replicaSpecs: {PS: null}}`,
		"roles may be added or removed only while the job is suspended: set suspend: true first",
	},
}

func TestAJobThatRunsCanChangeOnlyAsFarAsItCanFollow(t *testing.T) {
	ns := namespace(t, nil)
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			existing := job(t, ns, c.from)
			create(t, existing)
			patch, err := json.Marshal(parse(t, c.change))
			if err != nil {
				t.Fatal(err)
			}
			err = admin.Patch(t.Context(), existing, client.RawPatch(types.MergePatchType, patch), client.DryRunAll)
			expectRefusal(t, err, c.refusal)
		})
	}
}

// A job that has finished does not run again. Every change that needs another run is refused with what to do instead.
func TestAJobThatHasFinishedDoesNotRunAgain(t *testing.T) {
	ns := namespace(t, nil)
	const again = "the job has finished and does not run again: delete it before you apply the change, or create another job with another name"
	for _, c := range []struct{ name, from, change, refusal string }{
		{"another template", `{}`, otherImage, again},
		{"another template of a job that was suspended", suspendedJob, otherImage, again},
		{"another role", `{}`, `spec: {replicaSpecs: {PS: {template: POD}}}`, again},
		{"another number of replicas", `{}`, `spec: {replicaSpecs: {Worker: {replicas: 5}}}`, again},
		{"suspend", `{}`, suspendedJob, "the job has finished, so it cannot be suspended: delete it, or create another job with another name"},
		{"resume", suspendedJob, `spec: {suspend: false}`, ""},
		{"another time to live", `{}`, `spec: {runPolicy: {ttlSecondsAfterFinished: 60}}`, ""},
		{"a label", `{}`, `metadata: {labels: {a: b}}`, ""},
	} {
		for _, phase := range []v1alpha1.Phase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed} {
			t.Run(c.name+", "+string(phase), func(t *testing.T) {
				existing := typed(t, job(t, ns, c.from))
				create(t, existing)
				existing.Status.Phase = phase
				if err := admin.Status().Update(t.Context(), existing); err != nil {
					t.Fatal(err)
				}
				patch, err := json.Marshal(parse(t, c.change))
				if err != nil {
					t.Fatal(err)
				}
				err = admin.Patch(t.Context(), existing, client.RawPatch(types.MergePatchType, patch), client.DryRunAll)
				expectRefusal(t, err, c.refusal)
				if err != nil && strings.Contains(err.Error(), "set suspend: true first") {
					t.Errorf("it leads into a dead end: %v", err)
				}
			})
		}
	}
}

func TestTheScaleSubresourceScalesTheWorkersOfAnElasticJobOnly(t *testing.T) {
	ns := namespace(t, nil)
	for _, c := range []struct {
		name, from string
		replicas   int32
		refusal    string
	}{
		{"an elastic job", elasticJob, 8, ""},
		{"an elastic job beyond its bounds", elasticJob, 9, "an elastic job needs replicaSpecs.Worker.replicas between"},
		{"a fixed job", `{}`, 5, "replicas of a job that runs may change only for the Worker role of an elastic job"},
		{"a fixed job that is suspended", suspendedJob, 5, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			existing := typed(t, job(t, ns, c.from))
			create(t, existing)
			scale := &autoscalingv1.Scale{}
			if err := admin.SubResource("scale").Get(t.Context(), existing, scale); err != nil {
				t.Fatal(err)
			}
			if scale.Spec.Replicas != 4 {
				t.Errorf("the scale shows %d replicas, want 4", scale.Spec.Replicas)
			}
			scale.Spec.Replicas = c.replicas
			err := admin.SubResource("scale").Update(t.Context(), existing, client.WithSubResourceBody(scale), &client.SubResourceUpdateOptions{
				UpdateOptions: client.UpdateOptions{DryRun: []string{"All"}},
			})
			expectRefusal(t, err, c.refusal)
		})
	}
}
