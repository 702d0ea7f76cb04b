package cluster

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

var errRead = errors.New("the API server was read")

// silent is an API server that fails every read.
type silent struct{ client.Reader }

func (silent) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errRead
}

func (silent) List(context.Context, client.ObjectList, ...client.ListOption) error { return errRead }

func TestOnlyAJobThatIsUnderWayIsComparedWithTheAPIServer(t *testing.T) {
	is := func(condition string) func(*v1alpha1.TrainingJob) {
		return func(job *v1alpha1.TrainingJob) {
			job.Status.ObservedGeneration = 1
			meta.SetStatusCondition(&job.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue})
		}
	}
	for name, c := range map[string]struct {
		job  *v1alpha1.TrainingJob
		want error
	}{
		"a new job":         {builder.Job("j", builder.Workers(1)), nil},
		"one that runs":     {builder.Job("j", builder.Workers(1), is(v1alpha1.ConditionRunning)), errRead},
		"one that finished": {builder.Job("j", builder.Workers(1), is(v1alpha1.ConditionFinished)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			known, _ := refusing()
			known.live, known.startup.loaded = silent{}, true
			if err := known.verify(t.Context(), c.job, nil); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}
