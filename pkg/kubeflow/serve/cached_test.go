package serve

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// withArguments returns a job whose container has n arguments of one letter.
func withArguments(t *testing.T, n int) *Job {
	t.Helper()
	return read(t, strings.Replace(servable, "image: i", "image: i, args: ["+strings.Repeat("a,", n)+"a]", 1))
}

const servable = `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: j, namespace: ns, uid: u, resourceVersion: "7", labels: {team: a}}
spec: {pytorchReplicaSpecs: {Worker: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: i}]}}}}}
`

func packedOf(t *testing.T, job *Job) *unstructured.Unstructured {
	t.Helper()
	kept, err := pack(job.source.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	return kept.(*unstructured.Unstructured)
}

// As trees, 100 jobs of 120 kB took 200 MB.
func TestTheCacheKeepsAtMostAShortTextOfAJob(t *testing.T) {
	for name, c := range map[string]struct {
		arguments int
		most      int64 // bytes for each job
	}{"short": {100, 4 << 10}, "just short enough": {7_000, 40 << 10}, "long": {30_000, 4 << 10}} {
		const jobs = 100
		job, kept := withArguments(t, c.arguments), make([]*unstructured.Unstructured, jobs)
		before := heap()
		for i := range kept {
			kept[i] = packedOf(t, job)
		}
		if used := (heap() - before) / jobs; used > c.most {
			t.Errorf("%s: %d bytes for each job, want at most %d", name, used, c.most)
		}
		runtime.KeepAlive(kept)
		runtime.KeepAlive(job)
	}
}

// heap returns the bytes that are in use. The second collection frees what pools and finalizers held in the first.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What the cache keeps, and what the API server has, is the same job.
func TestAJobOfAnySizeIsReadWhole(t *testing.T) {
	for name, c := range map[string]struct{ arguments, reads int }{"short": {1, 0}, "long": {20_000, 1}} {
		job, reads := withArguments(t, c.arguments), 0
		r, _ := reconcilerOf(t, job)
		r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			err := c.Get(ctx, key, o, options...)
			if u, isJob := o.(*unstructured.Unstructured); isJob && err == nil {
				kept, err := pack(u.DeepCopy())
				u.Object = kept.(*unstructured.Unstructured).Object
				return err
			}
			return err
		}})
		r.Live = interceptor.NewClient(r.Live.(client.WithWatch), interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if _, isJob := o.(*unstructured.Unstructured); isJob {
				reads++
			}
			return c.Get(ctx, key, o, options...)
		}})
		got, err := r.own(t.Context(), ctrl.Request{NamespacedName: keyOf(job)})
		if err != nil {
			t.Fatal(err)
		}
		want, errWant := job.Serve()
		serves, errGot := got.Serve()
		if errWant != nil || errGot != nil {
			t.Fatal(errWant, errGot)
		}
		if diff := cmp.Diff(want.Child, serves.Child); diff != "" || reads != c.reads {
			t.Errorf("%s: %d reads from the API server, want %d; the TrainingJob differs by (-want +got):\n%s", name, reads, c.reads, diff)
		}
	}
}

func TestTheCacheKnowsWhichJobsAreNew(t *testing.T) {
	for name, c := range map[string]struct {
		change string
		want   bool
	}{
		"without a status":          {"", true},
		"with one":                  {"status: {conditions: [{type: Created, status: \"True\"}]}", false},
		"that another operator has": {"", false},
	} {
		job := read(t, servable+c.change)
		if name == "that another operator has" {
			if err := unstructured.SetNestedField(job.source.Object, "kueue.x-k8s.io/multikueue", "spec", "runPolicy", "managedBy"); err != nil {
				t.Fatal(err)
			}
		}
		if got := packedOf(t, job).Object[isNew]; got != c.want {
			t.Errorf("a job %s is new: %v, want %t", name, got, c.want)
		}
	}
}

// A JobSet that runs has counts, and no condition.
func TestTheCacheKeepsTheJobSetsOfThisOperator(t *testing.T) {
	for name, c := range map[string]struct {
		manager        string
		status         map[string]any
		isKept, wasNew bool
	}{
		"a new one":           {v1alpha1.OperatorName, nil, true, true},
		"one that runs":       {v1alpha1.OperatorName, map[string]any{"replicatedJobsStatus": []any{map[string]any{"name": "node"}}}, true, false},
		"one of JobSet's":     {"", nil, false, false},
		"one of MultiKueue's": {"kueue.x-k8s.io/multikueue", nil, false, false},
	} {
		set := JobSet.empty()
		set.SetName("t")
		if err := unstructured.SetNestedField(set.Object, c.manager, "spec", "managedBy"); err != nil {
			t.Fatal(err)
		}
		if c.status != nil {
			set.Object["status"] = c.status
		}
		kept, err := pack(set)
		if err != nil {
			t.Fatal(err)
		}
		object := kept.(*unstructured.Unstructured).Object
		if _, isKept := object[packed]; isKept != c.isKept || object[isNew] != c.wasNew {
			t.Errorf("%s: kept %t, new %v, want %t and %t", name, isKept, object[isNew], c.isKept, c.wasNew)
		}
	}
}
