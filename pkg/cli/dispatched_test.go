package cli

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A job that MultiKueue runs has its pods in another cluster, which kubectl tj names.
func TestAJobInAnotherClusterIsNamedWithItsCluster(t *testing.T) {
	job := builder.Job("mnist", builder.Workers(2))
	job.Spec.ManagedBy = v1alpha1.MultiKueue
	job.Annotations = map[string]string{v1alpha1.AnnotationCluster: "gpus-west"}
	job.Status = v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseRunning, Reason: v1alpha1.ReasonAllReplicasRunning, Message: "All replicas run.", Ready: "2/2"}
	s := newStage(interceptor.Funcs{}, job)
	s.run(t.Context(), []string{"why", "mnist"})
	if said := s.out.String(); strings.Contains(said, "Of 2 replicas") {
		t.Errorf("it counts pods that this cluster does not have: %q", said)
	}
	for line, c := range map[string]struct {
		status int
		want   []string
	}{
		"why mnist":     {0, []string{"mnist runs in cluster gpus-west (AllReplicasRunning): All replicas run.", "kubectl tj why -n team-a mnist --context CONTEXT"}},
		"restart mnist": {1, []string{"mnist runs in cluster gpus-west, and restarts there", "--context"}},
		"logs mnist":    {1, []string{"gpus-west", "--context"}},
	} {
		t.Run(line, func(t *testing.T) {
			s := newStage(interceptor.Funcs{}, job)
			if status := s.run(t.Context(), strings.Fields(line)); status != c.status {
				t.Errorf("status %d", status)
			}
			for _, want := range c.want {
				if said := s.out.String() + s.err.String(); !strings.Contains(said, want) {
					t.Errorf("it says %q, want %q", said, want)
				}
			}
		})
	}
}
