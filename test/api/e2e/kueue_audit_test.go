//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// quotaWatch has every version of the Workloads of a namespace.
type quotaWatch struct {
	mu   sync.Mutex
	seen []ledger.Observation
	lost []any
}

// watchQuota begins to watch the Workloads of the spec's namespace.
func watchQuota() *quotaWatch {
	GinkgoHelper()
	list := workloadList()
	Expect(kube.List(here.ctx, list, client.InNamespace(here.namespace))).To(Succeed())
	ctx, stop := context.WithCancel(context.Background())
	namespace := here.namespace
	stream, err := toolswatch.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return kube.Watch(ctx, workloadList(), client.InNamespace(namespace), &client.ListOptions{Raw: &options})
		},
	})
	Expect(err).NotTo(HaveOccurred())
	w := &quotaWatch{}
	DeferCleanup(stop)
	go func() {
		for event := range stream.ResultChan() {
			w.add(event)
		}
	}()
	return w
}

func workloadList() *unstructured.UnstructuredList {
	return &unstructured.UnstructuredList{Object: fields{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadList"}}
}

func (w *quotaWatch) add(event watch.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	workload, isWorkload := event.Object.(*unstructured.Unstructured)
	if !isWorkload || ledger.OwnerOf(workload) == nil {
		w.lost = append(w.lost, event.Object)
		return
	}
	revision, err := strconv.ParseUint(workload.GetResourceVersion(), 10, 64)
	if err != nil {
		w.lost = append(w.lost, err)
	}
	w.seen = append(w.seen, ledger.Observation{Revision: revision, Event: event.Type, Workload: workload})
}

// observations returns every version of a Workload so far, and the revision of the latest version of each.
func (w *quotaWatch) observations() (all []ledger.Observation, last map[types.UID]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last = map[types.UID]string{}
	for _, o := range w.seen {
		last[o.Workload.GetUID()] = o.Workload.GetResourceVersion()
	}
	return slices.Clone(w.seen), last
}

// holds fails if at some time the pods of the spec held GPUs without quota, or if at the end Kueue counts GPUs that no job needs.
func (q *queue) holds() {
	GinkgoHelper()
	Eventually(q.isSound).Should(Succeed())
	Expect(q.quota.lost).To(BeEmpty(), "the watch of Workloads has gaps and proves nothing")
}

func (q *queue) isSound(g Gomega) {
	all, last := q.quota.observations()
	list := workloadList()
	g.Expect(kube.List(here.ctx, list, client.InNamespace(here.namespace))).To(Succeed())
	for i := range list.Items {
		g.Expect(last[list.Items[i].GetUID()]).To(Equal(list.Items[i].GetResourceVersion()), "the watch has brought the latest version")
	}
	cluster := kueueObject("ClusterQueue", q.name)
	g.Expect(kube.Get(here.ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
	all = append(all, here.history.sorted()...)
	slices.SortStableFunc(all, func(a, b ledger.Observation) int { return cmp.Compare(a.Revision, b.Revision) })
	g.Expect(ledger.Quota(all, cluster, gpu)).To(BeEmpty())
}

// The audit after each spec proves something only if it can fail. TestQuota of test/sim/ledger has each of its sentences; this spec has its watches.
var _ = Describe("The audit of a queue", Serial, Label("Kueue"), func() {
	It("notices a pod that holds a GPU without quota", func() {
		q := newQueue(2)
		j := q.submit("audited", 1)
		job := j.runs(0, 0).job
		q.holds()
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: here.namespace, Name: "uncounted",
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "mine", Image: "example.test/mine:1", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{gpu: resource.MustParse("1")}},
			}}},
		}
		here.forged = append(here.forged, pod.Name)
		Expect(kube.Create(here.ctx, pod)).To(Succeed())
		Eventually(func() (found []string) {
			q.isSound(NewGomega(func(message string, _ ...int) { found = append(found, message) }))
			return found
		}).Should(ContainElement(ContainSubstring("covered: pods of audited hold 2, and it has quota for 1")))
	})
})
