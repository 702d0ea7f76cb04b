//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// slow pods take some seconds to end, as on real nodes. The next job must not begin beside them.
func slow(n int) jobOption { return gpuWorkers(n, doing("terminate-after", "6s")) }

// patched returns how the API server answers a merge patch of the job.
func (j *submitted) patched(patch string) error {
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: here.namespace, Name: j.name}}
	return kube.Patch(here.ctx, job, client.RawPatch(types.MergePatchType, []byte(patch)))
}

var _ = Describe("The quota of a queue of Kueue", Serial, Label("Kueue"), func() {
	var q *queue

	AfterEach(func() { q.holds() })

	DescribeTable("is free when the last pod is gone, after", func(give func(*submitted), options ...jobOption) {
		q = newQueue(4)
		first := q.submit("first", 4, append([]jobOption{slow(4)}, options...)...)
		first.runs(0, 0)
		second := q.submit("second", 4)
		second.waits(q)
		give(first)
		second.runs(0, 0)
	},
		Entry("a deletion in the background", func(j *submitted) { j.delete(metav1.DeletePropagationBackground) }),
		Entry("a deletion in the foreground", func(j *submitted) { j.delete(metav1.DeletePropagationForeground) }),
		Entry("a deletion while its pods are ending", func(j *submitted) {
			j.suspend()
			j.becomes("its pods are ending", func(v *view) bool { return v.isTrue(v1alpha1.ConditionSuspended) && len(v.pods) == 4 })
			j.delete(metav1.DeletePropagationBackground)
		}),
		Entry("a deletion, though pods may outlive their job", func(j *submitted) {
			j.exits(0, "worker-0")
			j.succeeds()
			j.delete(metav1.DeletePropagationBackground)
		}, cleaning(v1alpha1.CleanNone)),
		Entry("the deletion of the Workload", func(j *submitted) { Expect(kube.Delete(here.ctx, j.workload())).To(Succeed()) }),
		Entry("the user's suspension", func(j *submitted) { j.suspend() }),
		Entry("kubectl tj suspend", func(j *submitted) { j.tj("suspend") }),
	)

	It("is free when the last pod is gone of a job that was scaled, which then runs with its new size", mutated, func() {
		q = newQueue(4)
		first := q.submit("first", 4, slow(4), elastic(1, 8))
		before := first.runs(0, 0)
		second := q.submit("second", 2)
		second.waits(q)
		Expect(first.patched(`{"spec": {"replicaSpecs": {"Worker": {"replicas": 2}}}}`)).To(Succeed())
		second.runs(0, 0)
		v := first.becomes("two run, both of them new", func(v *view) bool {
			return len(v.pods) == 2 && v.allRun() && v.uids()["worker-0"] != before.uids()["worker-0"]
		})
		v.is("nothing failed", v.job.Status.Restarts == 0)
		Expect(first.patched(`{"spec": {"replicaSpecs": {"Worker": {"replicas": 6}}}}`)).To(Succeed())
		first.becomes("it runs with what there is quota for, which is two", func(v *view) bool {
			return v.job.Status.Reason == v1alpha1.ReasonPartiallyAdmitted && len(v.pods) == 2 && v.allRun()
		})
	})

	It("cannot be passed by: a user neither starts a job, nor takes it out of its queue, nor writes what the adapter writes", func() {
		q = newQueue(1)
		first := q.submit("first", 1)
		first.runs(0, 0)
		second := q.submit("second", 1)
		second.waits(q)
		Expect(second.patched(`{"spec": {"suspend": false}}`)).To(MatchError(ContainSubstring("Kueue starts a job of a queue when it admits it")))
		for _, queue := range []string{`null`, `"another"`} {
			label := `{"metadata": {"labels": {"kueue.x-k8s.io/queue-name": ` + queue + `}}}`
			Expect(first.patched(label)).To(MatchError(ContainSubstring("may change only while the job is suspended")))
		}
		both := `{"metadata": {"labels": {"kueue.x-k8s.io/queue-name": null}}, "spec": {"suspend": %s}}`
		for _, suspend := range []string{"true", "false"} {
			j := map[string]*submitted{"true": first, "false": second}[suspend]
			Expect(j.patched(fmt.Sprintf(both, suspend))).To(MatchError(ContainSubstring("may change only while the job is suspended")))
		}
		partial := `{"metadata": {"annotations": {"trainingjob.dev/kueue-admitted-workers": "1 of 99999"}}}`
		Expect(first.patched(partial)).To(MatchError(ContainSubstring("Kueue's adapter alone writes the annotation")))
		Expect(first.patched(`{"metadata": {"finalizers": null}}`)).To(MatchError(ContainSubstring("Kueue's adapter alone writes the finalizer")))
		orphaned := `{"metadata": {"finalizers": ["trainingjob.dev/kueue-quota", "orphan"]}}`
		Expect(first.patched(orphaned)).To(MatchError(ContainSubstring("--cascade=background")))
		orphan := client.PropagationPolicy(metav1.DeletePropagationOrphan)
		Expect(kube.Delete(here.ctx, first.look().job, orphan)).To(MatchError(ContainSubstring("--cascade=background")))
		all := &v1alpha1.TrainingJob{}
		Expect(kube.DeleteAllOf(here.ctx, all, client.InNamespace(here.namespace), orphan)).To(MatchError(ContainSubstring("--cascade=background")))
	})

	It("is given back by a job that leaves its queue, admitted or not", func() {
		q = newQueue(2)
		first := q.submit("first", 2, slow(2))
		first.runs(0, 0)
		second := q.submit("second", 2)
		second.waits(q)
		second.change(func(job *v1alpha1.TrainingJob) { job.Labels = nil })
		v := second.becomes("it is in no queue", func(v *view) bool { return v.job.Status.Phase == v1alpha1.PhaseSuspended })
		Eventually(second.workload).Should(BeNil())
		second.becomes("nothing is left of why it waited", func(v *view) bool { return v.job.Annotations[v1alpha1.AnnotationQueueMessage] == "" })
		v.is("it is suspended", v.job.Spec.IsSuspended())
		third := q.submit("third", 2)
		third.waits(q)
		first.suspend()
		first.becomes("it is suspended", func(v *view) bool { return v.isTrue(v1alpha1.ConditionSuspended) })
		first.change(func(job *v1alpha1.TrainingJob) { job.Labels = nil })
		third.runs(0, 0)
		first.becomes("it is in no queue", func(v *view) bool {
			return v.job.Status.Phase == v1alpha1.PhaseSuspended && len(v.job.Finalizers) == 0 && len(v.pods) == 0
		})
		Eventually(first.workload).Should(BeNil())
	})

	It("is another job's while its user has suspended a job, and the job waits again when its user resumes it", func() {
		q = newQueue(2)
		first := q.submit("first", 2, slow(2))
		before := first.runs(0, 0)
		second := q.submit("second", 2)
		second.waits(q)
		first.suspend()
		second.runs(0, 0)
		v := first.becomes("it says why it rests", func(v *view) bool {
			return v.job.Status.Phase == v1alpha1.PhaseQueued && containsAll(v.job.Status.Message, []string{"kubectl tj resume first"})
		})
		v.is("its templates are the user's again", len(v.job.Spec.ReplicaSpecs[v1alpha1.Worker].Template.Labels) == 0)
		v.is("it is charged nothing", v.job.Status.ChargedRestarts == 0)
		second.exits(0, "worker-0")
		second.succeeds()
		first.stays("it rests, though there is quota", func(v *view) bool { return len(v.pods) == 0 && v.job.Spec.IsSuspended() })
		first.tj("resume")
		allReplaced(before, first.runs(0, 0))
	})

	It("is another job's after kubectl tj suspend, and kubectl tj resume starts the job again, edited, each time that its user does so", func() {
		q = newQueue(2, ofSomeNodes)
		first := q.submit("first", 3, elastic(1, 4), gpuWorkers(3, doing("terminate-after", "3s")))
		before := first.runs(0, 0)
		users := before.job.DeepCopy()
		for edit := range 3 {
			first.tj("suspend")
			second := q.submit(fmt.Sprint("second-", edit), 2)
			second.runs(0, 0)
			v := first.becomes("it says why it rests", func(v *view) bool {
				return len(v.pods) == 0 && containsAll(v.job.Status.Message, []string{"kubectl tj resume first"})
			})
			template := v.job.Spec.ReplicaSpecs[v1alpha1.Worker].Template
			v.is("it requests what its user requested", v.job.Spec.Replicas(v1alpha1.Worker) == 3)
			v.is("its template is the user's", len(template.Labels)+len(template.Spec.NodeSelector)+len(template.Spec.Tolerations) == 0)
			v.is("nothing is counted", v.job.Status.Restarts == 0 && v.job.Status.Attempt == users.Status.Attempt)
			first.change(func(job *v1alpha1.TrainingJob) {
				job.Spec.ReplicaSpecs[v1alpha1.Worker].Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "EDIT", Value: fmt.Sprint(edit)}}
			})
			first.tj("resume")
			first.becomes("it waits in its queue", func(v *view) bool { return containsAll(v.job.Status.Message, []string{"assign flavors"}) })
			second.exits(0, "worker-0")
			second.succeeds()
			after := first.runs(0, 0)
			allReplaced(before, after)
			after.is("it runs on the flavor's nodes", after.pod("worker-0").Spec.NodeSelector[corev1.LabelOSStable] == "linux")
			before = after
		}
		first.tj("suspend")
		first.tj("resume") // before the adapter has seen the suspension, or after it
		first.becomes("all its pods are new", func(v *view) bool {
			return v.allRun() && len(v.pods) == 2 && v.uids()["worker-0"] != before.uids()["worker-0"]
		})
	})

	It("stays with a partially admitted job whose manifest is applied again", mutated, func() {
		q = newQueue(2)
		j := q.submit("partial", 4, elastic(2, 4))
		before := j.runs(0, 0)
		workload := j.workload().GetUID()
		Expect(j.patched(`{"spec": {"replicaSpecs": {"Worker": {"replicas": 4}}}}`)).To(Succeed())
		j.becomes("it has the two that were admitted", func(v *view) bool { return v.job.Spec.Replicas(v1alpha1.Worker) == 2 })
		v := j.runs(0, 0)
		v.is("its pods are the same", len(v.pods) == 2 && v.uids()["worker-0"] == before.uids()["worker-0"])
		v.is("it still says that it has fewer than it requests", v.job.Status.Reason == v1alpha1.ReasonPartiallyAdmitted)
		Expect(j.workload().GetUID()).To(Equal(workload))
	})

	It("is not asked for when there can be no Workload, and the job says why", func() {
		q = newQueue(1)
		for label, words := range map[string]string{priorityLabel: `"nothing" not found`, "kueue.x-k8s.io/prebuilt-workload-name": "prebuilt workload not found"} {
			j := q.submit("j-"+strings.TrimPrefix(label, "kueue.x-k8s.io/"), 1, q.job(label, "nothing"))
			j.becomes("it says why it has no Workload", func(v *view) bool {
				return v.job.Status.Phase == v1alpha1.PhaseQueued && containsAll(v.job.Status.Message, []string{"it has no Workload", words})
			})
		}
	})

	It("is needed by a job that names no queue, where the namespace has a default one", mutated, func() {
		q = newQueue(1)
		q.isCalled("default")
		j := submit(pytorch("nameless", gpuWorkers(2)))
		v := j.becomes("it waits in the default queue", func(v *view) bool { return v.job.Status.Phase == v1alpha1.PhaseQueued })
		v.is("it has its label", v.job.Labels[v1alpha1.LabelQueue] == "default" && v.job.Spec.IsSuspended())
		j.stays("no pod is there", func(v *view) bool { return len(v.pods) == 0 })
		q.grows(2)
		j.runs(0, 0)
	})

	It("is needed by every job, where the administrator requires a queue", func() {
		q = newQueue(1)
		requireQueues()
		nameless := pytorch("nameless", gpuWorkers(1))
		Expect(kube.Create(here.ctx, nameless)).To(MatchError(ContainSubstring("names its queue: set the label kueue.x-k8s.io/queue-name")))
		nameless = pytorch("nameless", gpuWorkers(1))
		nameless.Namespace = here.namespace
		nameless.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "kubeflow.org/v1", Kind: "PyTorchJob", Name: nameless.Name, UID: "u", Controller: ptr.To(true)},
		}
		forged := tenantCalled("system:serviceaccount:another-team:trainingjob-operator")
		Expect(forged.Create(here.ctx, nameless)).To(MatchError(ContainSubstring("names its queue")), "an account with the operator's name, for a Kubeflow job")
		j := q.submit("named", 1)
		j.runs(0, 0)
		j.suspend()
		j.becomes("it is suspended", func(v *view) bool { return v.isTrue(v1alpha1.ConditionSuspended) })
		Expect(j.patched(`{"metadata": {"labels": null}}`)).To(MatchError(ContainSubstring("names its queue")))
	})
})

// requireQueues installs the policy that requires queues, for the spec's namespace alone.
func requireQueues() {
	GinkgoHelper()
	rendered, err := os.ReadFile("../../../manifests/components/queue-required/policy.yaml")
	Expect(err).NotTo(HaveOccurred())
	for _, text := range strings.Split(string(rendered), "\n---\n") {
		object := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(text), object)).To(Succeed())
		object.SetName(here.namespace)
		if object.GetKind() == "ValidatingAdmissionPolicyBinding" {
			only := fields{"namespaceSelector": fields{"matchLabels": fields{corev1.LabelMetadataName: here.namespace}}}
			Expect(unstructured.SetNestedMap(object.Object, only, "spec", "matchResources")).To(Succeed())
			Expect(unstructured.SetNestedField(object.Object, here.namespace, "spec", "policyName")).To(Succeed())
		}
		Expect(kube.Create(here.ctx, object)).To(Succeed())
		DeferCleanup(func() { Expect(kube.Delete(here.ctx, object)).To(Succeed()) })
	}
	Eventually(func() error {
		return kube.Create(here.ctx, pytorch("probe", gpuWorkers(1)), client.DryRunAll)
	}).Should(MatchError(ContainSubstring("names its queue")), "the policy holds")
}
