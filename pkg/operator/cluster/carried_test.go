package cluster

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A job whose carried status is refused stays so: with the next look it must not begin with an empty status and a full budget.
func TestACachedJobKeepsTheCarriedStatusThatIsRefused(t *testing.T) {
	for name, text := range map[string]string{"forged": `{"attempt":3,"restarts":-4}`, "too long": strings.Repeat("é", 100_000)} {
		job := builder.Job("j", builder.Workers(2), builder.Dispatched(text))
		for look := range 3 {
			trimmed, err := newTemplates().trimJob(job.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			cached := trimmed.(*v1alpha1.TrainingJob)
			if size := len(cached.Annotations[v1alpha1.AnnotationCarriedStatus]); size > v1alpha1.MaxCarriedStatus+4 {
				t.Errorf("%s: %d bytes of it are cached", name, size)
			}
			p := plan.Make(builder.Snapshot(cached, builder.Now(0)))
			if job.Status = p.Status; !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionStalled) || len(p.Steps) > 0 {
				t.Fatalf("%s, look %d: %s", name, look, p)
			}
		}
	}
	job := builder.Job("j", builder.Workers(2))
	job.Annotations = map[string]string{v1alpha1.AnnotationCarriedStatus: strings.Repeat("x", 250_000)}
	trimmed, err := newTemplates().trimJob(job)
	if err != nil || len(trimmed.(*v1alpha1.TrainingJob).Annotations) > 0 {
		t.Errorf("a job that MultiKueue has not made keeps %d annotations, error %v", len(trimmed.(*v1alpha1.TrainingJob).Annotations), err)
	}
}
