package cli

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/pkg/local"
	"github.com/trainingjob/operator/pkg/local/folder"
	"github.com/trainingjob/operator/pkg/operator/intake/sieve"
	"github.com/trainingjob/operator/pkg/operator/progress"
)

// dialLocal connects to the local run of the folder of --local.
func (t *tool) dialLocal() (*connection, error) {
	run, err := folder.Open(t.local)
	if err != nil {
		return nil, fmt.Errorf("--local: %w", err)
	}
	is, err := run.State()
	if err != nil {
		return nil, fmt.Errorf("--local: %w", err)
	}
	isStopped := !is.IsAlive() && !is.IsFinished()
	if isStopped {
		t.say("The run was stopped before the job had finished; this is its last state.")
	}
	log := func(ctx context.Context, _, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		return run.Log(ctx, pod, o.Container, o)
	}
	names := local.NewNames(is.Job)
	stacks := func(ctx context.Context, _ string, rank *asked) ([]byte, error) {
		page, err := names.Page(names.Address(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: rank.pod}}), rank.port)
		if err != nil {
			return nil, err
		}
		return progress.NewReader().Read(ctx, page, progress.Stacks)
	}
	return &connection{
		kube: run, log: log, stacks: stacks, namespace: is.Job.Namespace, folder: t.local, isStopped: isStopped, skipped: func() []sieve.Skipped { return nil },
	}, nil
}
