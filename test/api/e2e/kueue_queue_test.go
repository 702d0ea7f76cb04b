//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// queue is a LocalQueue of the spec's namespace, with a ClusterQueue and a flavor to itself, all of one name.
type queue struct {
	name  string
	gpus  int64
	quota *quotaWatch
}

type fields = map[string]any

// newQueue makes a queue with a quota of so many GPUs; a change may add to the specs of its flavor and its ClusterQueue.
func newQueue(gpus int64, changes ...func(flavor, cluster fields)) *queue {
	GinkgoHelper()
	q := &queue{name: here.namespace, gpus: gpus, quota: watchQuota()}
	flavor, cluster := fields{}, q.clusterSpec()
	for _, change := range changes {
		change(flavor, cluster)
	}
	createKueue("ResourceFlavor", q.name, flavor)
	createKueue("ClusterQueue", q.name, cluster)
	q.isCalled(q.name)
	return q
}

// isCalled makes a LocalQueue of that name.
func (q *queue) isCalled(name string) {
	GinkgoHelper()
	local := kueueObject("LocalQueue", name)
	local.SetNamespace(here.namespace)
	local.Object["spec"] = fields{"clusterQueue": q.name}
	Expect(kube.Create(here.ctx, local)).To(Succeed())
}

func (q *queue) clusterSpec() fields {
	quota := fields{"name": string(gpu), "nominalQuota": q.gpus}
	return fields{
		"namespaceSelector": fields{},
		"resourceGroups": []any{fields{
			"coveredResources": []any{string(gpu)},
			"flavors":          []any{fields{"name": q.name, "resources": []any{quota}}},
		}},
	}
}

// preempting lets a more important job take the quota of others.
func preempting(_, cluster fields) {
	cluster["preemption"] = fields{"withinClusterQueue": "LowerPriority"}
}

// held admits nothing until it is opened.
func held(_, cluster fields) { cluster["stopPolicy"] = "Hold" }

// ofSomeNodes gives the flavor what nearly every installation's has: labels of its nodes, and a toleration of their taint.
func ofSomeNodes(flavor, _ fields) {
	flavor["nodeLabels"] = fields{corev1.LabelOSStable: "linux"}
	flavor["tolerations"] = []any{fields{"key": string(gpu), "operator": "Exists", "effect": "NoSchedule"}}
}

func kueueObject(kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: fields{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind}}
	object.SetName(name)
	return object
}

// createKueue creates an object of the cluster until the spec ends.
func createKueue(kind, name string, spec fields) {
	GinkgoHelper()
	object := kueueObject(kind, name)
	object.Object["spec"] = spec
	Expect(kube.Create(here.ctx, object)).To(Succeed(), "Kueue's %s", kind)
	DeferCleanup(func() { Expect(kube.Delete(here.ctx, object)).To(Succeed()) })
}

// workloadPriority makes a WorkloadPriorityClass of that value.
func workloadPriority(value int64) string {
	GinkgoHelper()
	class := kueueObject("WorkloadPriorityClass", here.namespace)
	class.Object["value"] = value
	Expect(kube.Create(here.ctx, class)).To(Succeed())
	DeferCleanup(func() { Expect(kube.Delete(here.ctx, class)).To(Succeed()) })
	return class.GetName()
}

// stops sets the ClusterQueue's stopPolicy: None, Hold or HoldAndDrain.
func (q *queue) stops(policy string) {
	GinkgoHelper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"stopPolicy": "`+policy+`"}}`))
	Expect(kube.Patch(here.ctx, kueueObject("ClusterQueue", q.name), patch)).To(Succeed())
}

// grows sets a larger quota.
func (q *queue) grows(gpus int64) {
	GinkgoHelper()
	q.gpus = gpus
	cluster := kueueObject("ClusterQueue", q.name)
	Eventually(func() error {
		Expect(kube.Get(here.ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		Expect(unstructured.SetNestedField(cluster.Object, q.clusterSpec()["resourceGroups"], "spec", "resourceGroups")).To(Succeed())
		return kube.Update(here.ctx, cluster)
	}).Should(Succeed())
}

// job puts the job into the queue, with further labels in pairs.
func (q *queue) job(labels ...string) jobOption {
	return func(j *v1alpha1.TrainingJob) {
		j.Labels = map[string]string{v1alpha1.LabelQueue: q.name}
		for i := 0; i < len(labels); i += 2 {
			j.Labels[labels[i]] = labels[i+1]
		}
	}
}

// submit submits a PyTorch job of n workers, of one GPU each, to the queue.
func (q *queue) submit(name string, n int, options ...jobOption) *submitted {
	GinkgoHelper()
	return submit(pytorch(name, append([]jobOption{q.job(), gpuWorkers(n)}, options...)...))
}

func gpuWorkers(n int, options ...replicaOption) jobOption {
	return workers(n, append(options, limited(gpu, 1))...)
}

// workload returns the job's Workload; nil if it has none.
func (j *submitted) workload() *unstructured.Unstructured {
	GinkgoHelper()
	list := workloadList()
	Expect(kube.List(here.ctx, list, client.InNamespace(here.namespace))).To(Succeed())
	for i := range list.Items {
		if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil && owner.Kind == v1alpha1.Kind && owner.Name == j.name {
			return &list.Items[i]
		}
	}
	return nil
}

// queueSays returns a condition of the job's Workload; an empty one if there is none.
func (j *submitted) queueSays(kind string) metav1.Condition {
	GinkgoHelper()
	var status struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if workload := j.workload(); workload != nil {
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(workload.Object, &status)).To(Succeed())
	}
	if c := meta.FindStatusCondition(status.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// waits waits until the job is in its queue, with no pod that can run and with a message that says so.
func (j *submitted) waits(q *queue) *view {
	GinkgoHelper()
	v := j.becomes("it waits in its queue, and its pods have ended", func(v *view) bool {
		return v.job.Spec.IsSuspended() && v.job.Status.Phase == v1alpha1.PhaseQueued && v.haveEnded()
	})
	v.is("it says in which queue", v.job.Status.Reason == v1alpha1.ReasonQueued && v.isTrue(v1alpha1.ConditionQueued) &&
		containsAll(v.job.Status.Message, []string{"waits in queue " + q.name + " to be admitted"}))
	return v
}
