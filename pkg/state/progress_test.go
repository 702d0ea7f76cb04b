package state_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

func TestProgressOf(t *testing.T) {
	renewed := metav1.NewMicroTime(at(7*second + 123456))
	lease := func(step string) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationStep: step, v1alpha1.AnnotationCheckpoint: "s3://b/7"}},
			Spec:       coordinationv1.LeaseSpec{RenewTime: &renewed},
		}
	}
	cases := []struct {
		name  string
		lease *coordinationv1.Lease
		want  state.Progress
	}{
		{"a Lease that nobody has renewed yet", &coordinationv1.Lease{}, state.Progress{}},
		{"step, checkpoint and time", lease("7"), state.Progress{Step: 7, Checkpoint: "s3://b/7", Renewed: renewed.Time}},
		{"the highest step there is", lease("9223372036854775807"), state.Progress{Step: 1<<63 - 1, Checkpoint: "s3://b/7", Renewed: renewed.Time}},
		{"a step beyond it is none", lease("9223372036854775808"), state.Progress{Checkpoint: "s3://b/7", Renewed: renewed.Time}},
		{"a step that is no number is none", lease("1e6"), state.Progress{Checkpoint: "s3://b/7", Renewed: renewed.Time}},
		{"a step below 0 is none", lease("-1"), state.Progress{Checkpoint: "s3://b/7", Renewed: renewed.Time}},
		{"no step at all renews", lease(""), state.Progress{Checkpoint: "s3://b/7", Renewed: renewed.Time}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, state.ProgressOf(c.lease)); diff != "" {
				t.Errorf("progress (-want +got):\n%s", diff)
			}
		})
	}
	if got := state.LeaseName(builder.Job("j").Name); got != "j-progress" {
		t.Errorf("the Lease is called %q", got)
	}
}
