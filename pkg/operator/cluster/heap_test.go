package cluster

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// bytesOfACachedPod is how many bytes of the heap a pod of a large job may take in the cache, with its indexes.
const bytesOfACachedPod = 2600

// encoded returns a running pod of the job, as the API server sends it.
func encoded(tb testing.TB, job *v1alpha1.TrainingJob, i int) []byte {
	tb.Helper()
	slot := state.Slot{Role: v1alpha1.Worker, Index: i}
	pod := build.Pod(job, slot, state.Life{}, framework.Environment(job)(slot), nil)
	pod.UID, pod.ResourceVersion = types.UID(fmt.Sprintf("0f3c1a52-6f6b-4c2e-9d0e-%012d", i)), fmt.Sprint(1_000_000+i)
	pod.CreationTimestamp = builder.Time(0)
	pod.Spec.NodeName = fmt.Sprintf("gpu-node-%05d", i/8)
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "operator", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`)}}
	at := builder.Time(0)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, HostIP: "10.0.0.1", PodIP: "10.1.0.1", StartTime: &at, QOSClass: corev1.PodQOSBestEffort}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodReadyToStartContainers} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	for c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: pod.Spec.Containers[c].Name, Ready: true, Image: "train:v1",
			ImageID: "docker.io/library/train@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", ContainerID: fmt.Sprintf("containerd://%064d", i),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}})
	}
	text, err := pod.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// indexing applies the operator's indexes as the manager's cache does: by a value within a namespace, and within all.
type indexing toolscache.Indexers

// IndexField adds an index.
func (i indexing) IndexField(_ context.Context, _ client.Object, field string, values client.IndexerFunc) error {
	i[field] = func(o any) ([]string, error) {
		object := o.(client.Object)
		var all []string
		for _, value := range values(object) {
			all = append(all, object.GetNamespace()+"/"+value, "__all_namespaces/"+value)
		}
		return all, nil
	}
	return nil
}

// filled returns a cache with the n pods of a job, each decoded by itself as a watch does, and indexed as in the operator.
func filled(tb testing.TB, n int) toolscache.Indexer {
	tb.Helper()
	indexers := toolscache.Indexers{}
	if err := Index(tb.Context(), indexing(indexers)); err != nil {
		tb.Fatal(err)
	}
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexers)
	job := builder.Job("llama-pretraining", builder.Framework(v1alpha1.PyTorch), builder.Workers(n))
	trim := (&shared{}).trimPod
	for i := range n {
		full := &corev1.Pod{}
		if err := full.Unmarshal(encoded(tb, job, i)); err != nil {
			tb.Fatal(err)
		}
		kept, err := trim(full)
		if err == nil {
			err = store.Add(kept)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return store
}

// heapOfEach returns how many bytes each of n cached pods takes.
func heapOfEach(tb testing.TB, n int) int {
	tb.Helper()
	before := heap()
	store := filled(tb, n)
	each := int(heap()-before) / n
	runtime.KeepAlive(store)
	return each
}

// BenchmarkHeapOfACachedPod reports the memory of a pod in the cache of an operator that runs a job with so many pods.
func BenchmarkHeapOfACachedPod(b *testing.B) {
	for _, n := range []int{10_000, 65_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			each := 0
			for b.Loop() {
				each = heapOfEach(b, n)
			}
			b.ReportMetric(float64(each), "heap-B/pod")
		})
	}
}

func TestACachedPodIsSmall(t *testing.T) {
	if each := heapOfEach(t, 5_000); each > bytesOfACachedPod {
		t.Errorf("a cached pod takes %d bytes, want at most %d", each, bytesOfACachedPod)
	}
}
