//go:build e2e

package e2e

import (
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
	"github.com/trainingjob/operator/test/ledger"
)

// hold is one version of an object that holds GPUs: a pod has them, or a Workload has quota for them.
type hold struct {
	revision uint64
	uid      types.UID
	job      string
	isQuota  bool
	gpus     int64
}

// quotaWatch has every version of the Workloads of a namespace.
type quotaWatch struct {
	mu   sync.Mutex
	seen []hold
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
	if !isWorkload || metav1.GetControllerOf(workload) == nil {
		w.lost = append(w.lost, event.Object)
		return
	}
	revision, err := strconv.ParseUint(workload.GetResourceVersion(), 10, 64)
	if err != nil {
		w.lost = append(w.lost, err)
	}
	h := hold{revision: revision, uid: workload.GetUID(), job: metav1.GetControllerOf(workload).Name, isQuota: true}
	if event.Type != watch.Deleted {
		h.gpus = quotaOf(workload)
	}
	w.seen = append(w.seen, h)
}

// last returns the revision of the latest version of a Workload; 0 if there is none.
func (w *quotaWatch) last(uid types.UID) (revision uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.seen {
		if h.uid == uid {
			revision = max(revision, h.revision)
		}
	}
	return revision
}

// quotaOf returns the number of GPUs that a Workload has quota for.
func quotaOf(workload *unstructured.Unstructured) (gpus int64) {
	conditions, _, _ := unstructured.NestedSlice(workload.Object, "status", "conditions")
	for _, c := range conditions {
		if c.(fields)["type"] == "Finished" && c.(fields)["status"] == "True" {
			return 0
		}
	}
	assigned, _, _ := unstructured.NestedSlice(workload.Object, "status", "admission", "podSetAssignments")
	for _, a := range assigned {
		usage, _, _ := unstructured.NestedString(a.(fields), "resourceUsage", string(gpu))
		if usage != "" {
			quantity := resource.MustParse(usage)
			gpus += quantity.Value()
		}
	}
	return gpus
}

// holdings returns every change of what pods and Workloads hold, in the order in which they happened.
func (q *queue) holdings() []hold {
	q.quota.mu.Lock()
	all := slices.Clone(q.quota.seen)
	q.quota.mu.Unlock()
	for _, o := range here.history.sorted() {
		if o.Pod == nil {
			continue
		}
		h := hold{revision: o.Revision, uid: o.Pod.UID, job: o.Pod.Labels[v1alpha1.LabelJobName]}
		if o.Event != watch.Deleted && ledger.CanRun(o.Pod) {
			h.gpus = gpusOf(o.Pod)
		}
		all = append(all, h)
	}
	slices.SortStableFunc(all, func(a, b hold) int { return int(int64(a.revision) - int64(b.revision)) })
	return all
}

func gpusOf(pod *corev1.Pod) (gpus int64) {
	for i := range pod.Spec.Containers {
		gpus += pod.Spec.Containers[i].Resources.Limits.Name(gpu, resource.DecimalSI).Value()
	}
	return gpus
}

// coversAllPods fails if there was a time when a job's pods held more GPUs than its Workloads had quota for, or if Kueue's sum is another
// than the sum of the Workloads at the end. Pods count from the first Workload of their job: it may get its label while it runs.
func (q *queue) coversAllPods() {
	GinkgoHelper()
	Eventually(q.agrees).Should(Succeed())
	Expect(q.quota.lost).To(BeEmpty(), "the watch of Workloads has gaps and proves nothing")
	pods, quota := map[string]map[types.UID]int64{}, map[string]map[types.UID]int64{}
	for _, h := range q.holdings() {
		held := map[bool]map[string]map[types.UID]int64{true: quota, false: pods}[h.isQuota]
		if held[h.job] == nil {
			held[h.job] = map[types.UID]int64{}
		}
		held[h.job][h.uid] = h.gpus
		if quota[h.job] != nil {
			Expect(sum(pods[h.job])).To(BeNumerically("<=", sum(quota[h.job])), "GPUs of the pods of %s, and its quota, at revision %d", h.job, h.revision)
		}
	}
}

// agrees checks that the ClusterQueue reports the quota of its Workloads, and that the watch has brought the latest version of each.
func (q *queue) agrees(g Gomega) {
	var reserved int64
	list := workloadList()
	g.Expect(kube.List(here.ctx, list, client.InNamespace(here.namespace))).To(Succeed())
	for i := range list.Items {
		workload := &list.Items[i]
		reserved += quotaOf(workload)
		g.Expect(strconv.FormatUint(q.quota.last(workload.GetUID()), 10)).To(Equal(workload.GetResourceVersion()))
	}
	g.Expect(q.used()).To(Equal(reserved), "GPUs in the ClusterQueue's status.flavorsReservation, and in its Workloads")
}

func sum(held map[types.UID]int64) (gpus int64) {
	for _, n := range held {
		gpus += n
	}
	return gpus
}

// used returns how many GPUs the ClusterQueue reports as reserved, which includes all that are used.
func (q *queue) used() (gpus int64) {
	GinkgoHelper()
	cluster := kueueObject("ClusterQueue", q.name)
	Expect(kube.Get(here.ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
	flavors, _, _ := unstructured.NestedSlice(cluster.Object, "status", "flavorsReservation")
	for _, flavor := range flavors {
		resources, _, _ := unstructured.NestedSlice(flavor.(fields), "resources")
		for _, r := range resources {
			if total, isString := r.(fields)["total"].(string); isString && r.(fields)["name"] == string(gpu) {
				quantity := resource.MustParse(total)
				gpus += quantity.Value()
			}
		}
	}
	return gpus
}
