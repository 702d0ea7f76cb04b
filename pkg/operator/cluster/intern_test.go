package cluster

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// withScript returns a job as it comes from the API server: it shares nothing.
func withScript(name, script string) *v1alpha1.TrainingJob {
	job := builder.Job(name, builder.Workers(1, builder.Template(func(template *corev1.PodTemplateSpec) {
		template.Spec.Containers = []corev1.Container{{Name: "main", Image: "i", Args: []string{strings.Clone(script)}}}
	})))
	job.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	job.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: strings.Clone(script), v1alpha1.AnnotationQueueMessage: "waits"}
	return job.DeepCopy()
}

// transform returns jobs as the operator's cache keeps them.
func transform(t testing.TB) cache.TransformFunc {
	t.Helper()
	options, err := CacheOptions(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for o, by := range options.ByObject {
		if _, isJob := o.(*v1alpha1.TrainingJob); isJob && by.Transform != nil {
			return by.Transform
		}
	}
	return options.DefaultTransform
}

func cached(t testing.TB, transform cache.TransformFunc, job *v1alpha1.TrainingJob) *v1alpha1.TrainingJob {
	t.Helper()
	o, err := transform(job)
	if err != nil {
		t.Fatal(err)
	}
	return o.(*v1alpha1.TrainingJob)
}

func containerOf(job *v1alpha1.TrainingJob) *corev1.Container {
	return &job.Spec.ReplicaSpecs[v1alpha1.Worker].Template.Spec.Containers[0]
}

func TestACachedJobIsSmallAndDecidesTheSame(t *testing.T) {
	want := withScript("j", "train")
	want.ManagedFields = nil
	want.Annotations = map[string]string{v1alpha1.AnnotationQueueMessage: "waits"}
	from := withScript("j", "train")
	untouched := from.DeepCopy()
	if diff := cmp.Diff(want, cached(t, transform(t), from)); diff != "" {
		t.Errorf("cached job (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(untouched, from); diff != "" {
		t.Errorf("what the API server sent has changed:\n%s", diff)
	}
}

func TestJobsOfTheSameTemplateShareIt(t *testing.T) {
	to := transform(t)
	first, same, other := cached(t, to, withScript("a", "train")), cached(t, to, withScript("b", "train")), cached(t, to, withScript("c", "test"))
	if containerOf(first) != containerOf(same) {
		t.Error("two jobs with the same template have a copy each")
	}
	if containerOf(first) == containerOf(other) || containerOf(other).Args[0] != "test" {
		t.Errorf("a job has another one's template: %v", containerOf(other))
	}
}

// The table must not keep templates without a job, or it would grow for ever.
func TestATemplateGoesWithItsLastJob(t *testing.T) {
	table := newTemplates()
	kept := cached(t, table.trimJob, withScript("kept", "train"))
	for i := range 10 {
		cached(t, table.trimJob, withScript("gone", fmt.Sprintf("script %d", i)))
		cached(t, table.trimJob, withScript("gone", "train"))
	}
	count := func() int {
		table.mu.Lock()
		defer table.mu.Unlock()
		return len(table.known)
	}
	for end := time.Now().Add(10 * time.Second); count() != 1 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		runtime.GC()
	}
	if got := count(); got != 1 {
		t.Errorf("%d templates are kept, want only the remaining job's", got)
	}
	if again := cached(t, table.trimJob, withScript("again", "train")); containerOf(again) != containerOf(kept) {
		t.Error("the template of the job that is left is not known")
	}
}

func TestWhatIsNoJobIsLeftAlone(t *testing.T) {
	for _, o := range []any{&corev1.Service{}, cache.DeletedFinalStateUnknown{Key: "k"}, nil} {
		if got, err := newTemplates().trimJob(o); err != nil || !cmp.Equal(o, got) {
			t.Errorf("%v became %v, %v", o, got, err)
		}
	}
}

// 1,000 jobs of a sweep, with a script of 100 kB each, as kubectl applies them.
func BenchmarkCachingASweep(b *testing.B) {
	script := strings.Repeat("train --fast\n", 100_000/13)
	for b.Loop() {
		to := transform(b)
		before := heap()
		var jobs []*v1alpha1.TrainingJob
		for i := range 1000 {
			jobs = append(jobs, cached(b, to, withScript(fmt.Sprintf("sweep-%d", i), script)))
		}
		b.ReportMetric(float64(heap()-before)/float64(len(jobs)), "B/job")
		runtime.KeepAlive(jobs)
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
