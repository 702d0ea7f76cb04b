//go:build e2e

package e2e

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

// mutated is the label of specs in which MutatingAdmissionPolicies suspend jobs. Versions before 1.36 do not serve these.
var mutated = Label("since-1.36")

// priorityLabel names a WorkloadPriorityClass.
const priorityLabel = "kueue.x-k8s.io/priority-class"

var _ = Describe("A job in a queue of Kueue", Serial, Label("Kueue"), func() {
	var q *queue

	AfterEach(func() { q.holds() })

	It("is suspended by the API server, before any controller has read it", mutated, func() {
		q = newQueue(1, held)
		job := pytorch("first", q.job(), gpuWorkers(1))
		submit(job)
		Expect(job.Spec.IsSuspended()).To(BeTrue(), "what the API server answered")
	})

	It("is suspended when it is created, says so, and starts when it is admitted, with nothing else to do", func() {
		q = newQueue(2, held)
		j := q.submit("first", 2)
		j.waits(q)
		j.stays("no pod is there", func(v *view) bool { return len(v.pods) == 0 })
		q.stops("None")
		v := j.runs(0, 0)
		j.becomes("nothing is left of why it waited", func(v *view) bool { return v.job.Annotations[v1alpha1.AnnotationQueueMessage] == "" })
		v.is("it is neither queued nor suspended", !v.isTrue(v1alpha1.ConditionQueued) && !v.isTrue(v1alpha1.ConditionSuspended))
		v.is("its time counts from now", v.job.Status.StartTime != nil && v.job.Status.ChargedRestarts == 0)
		Expect(v.job.Status.LostSeconds.Queue).To(BeNumerically(">=", 1), "seconds in the queue")
		j.exits(0, "worker-0")
		j.succeeds()
		Eventually(func() metav1.Condition { return j.queueSays("Finished") }).Should(HaveField("Reason", "Succeeded"))
	})

	It("runs, the example, with the workers that there is quota for", func() {
		gpusAreFree()
		q = newQueue(24, coveringAll)
		q.isCalled("team-a")
		j := &submitted{name: applyExample("../../../examples/kueue.yaml").GetName()}
		v := j.becomes("it runs with three of four", func(v *view) bool { return v.job.Status.Phase == v1alpha1.PhaseRunning && v.job.Status.Ready == "3/3" })
		v.is("Kueue has admitted it", j.queueSays("Admitted").Status == metav1.ConditionTrue)
	})

	It("waits for quota, and runs when the job before it has ended and its pods are gone", func() {
		q = newQueue(3)
		first := q.submit("first", 2, gpuWorkers(2, doing("terminate-after", "3s")))
		first.runs(0, 0)
		second := q.submit("second", 2)
		second.waits(q)
		second.becomes("it says what it waits for, in Kueue's words", func(v *view) bool {
			return strings.Contains(v.job.Status.Message, "to be admitted: ") && strings.Contains(v.job.Status.Message, "insufficient unused quota for nvidia.com/gpu")
		})
		small := q.submit("small", 1)
		small.runs(0, 0)
		second.stays("it waits", func(v *view) bool { return v.job.Status.Phase == v1alpha1.PhaseQueued && len(v.pods) == 0 })
		first.exits(0, "worker-0")
		v := first.succeeds()
		v.is("worker 1 is still ending", v.pod("worker-1") != nil)
		Expect(first.queueSays("Finished")).To(BeZero(), "it holds its quota as long as worker 1 ends")
		second.runs(0, 0)
	})

	It("gives its quota up when it has failed, and its Workload says that it has", func() {
		q = newQueue(2)
		first := q.submit("first", 2, gpuWorkers(2, restarting(v1alpha1.RestartExitCode)))
		first.runs(0, 0)
		second := q.submit("second", 2)
		second.waits(q)
		first.exits(1, "worker-1")
		first.fails(v1alpha1.ReasonFatalExit)
		Eventually(func() metav1.Condition { return first.queueSays("Finished") }).Should(HaveField("Reason", "Failed"))
		second.runs(0, 0)
	})

	It("keeps its quota for pods that outlive it", func() {
		q = newQueue(2)
		first := q.submit("first", 2, cleaning(v1alpha1.CleanNone))
		first.runs(0, 0)
		second := q.submit("second", 2)
		second.waits(q)
		first.exits(0, "worker-0")
		first.succeeds()
		second.stays("it waits", func(v *view) bool { return len(v.pods) == 0 })
		first.exits(0, "worker-1")
		second.runs(0, 0)
	})

	It("makes way for a more important one: its quota is free when its pods are gone, it is charged nothing, and it comes back", func() {
		q = newQueue(2, preempting)
		class := workloadPriority(1000)
		low := q.submit("low", 2, maxRestarts(0), gpuWorkers(2, doing("terminate-after", "3s")))
		before := low.runs(0, 0)
		high := q.submit("high", 1, q.job(priorityLabel, class))
		v := low.becomes("it is suspended and its pods are ending", func(v *view) bool {
			return v.isTrue(v1alpha1.ConditionSuspended) && len(v.pods) == 2 && v.slots(corev1.PodRunning) == ""
		})
		v.is("they count", active(v) == 2)
		Expect(high.look().pods).To(BeEmpty(), "the more important one waits for them")
		Expect(low.queueSays("QuotaReserved").Status).To(Equal(metav1.ConditionTrue))
		high.runs(0, 0)
		v = low.waits(q)
		v.is("nothing failed", v.job.Status.Restarts == 0 && v.job.Status.ChargedRestarts == 0 && v.job.Status.LastFailure == nil)
		Expect(low.queueSays("Evicted")).To(HaveField("Reason", "Preempted"))
		high.exits(0, "worker-0")
		high.succeeds()
		allReplaced(before, low.runs(0, 0))
	})

	It("keeps its admission when it restarts as a whole", func() {
		q = newQueue(2)
		j := q.submit("restarts", 2)
		j.runs(0, 0)
		workload, admitted := j.workload().GetUID(), j.queueSays("Admitted").LastTransitionTime
		j.exits(137, "worker-1")
		j.runs(1, 1)
		Expect(j.workload().GetUID()).To(Equal(workload))
		Expect(j.queueSays("Admitted")).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("LastTransitionTime", admitted)))
		var words []string
		for _, version := range here.history.versions(j.name) {
			words = append(words, map[bool]string{true: "suspended", false: "runs"}[version.Spec.IsSuspended()])
		}
		words = words[slices.Index(words, "suspended"):] // without mutating policies it is suspended a moment after its creation
		Expect(slices.Compact(words)).To(Equal([]string{"suspended", "runs"}))
	})

	It("rests while its queue is stopped and drained, and then goes on", func() {
		q = newQueue(2)
		j := q.submit("drained", 2)
		before := j.runs(0, 0)
		q.stops("HoldAndDrain")
		j.waits(q)
		noPods := func(v *view) bool { return len(v.pods) == 0 }
		j.becomes("its pods are gone", noPods)
		j.stays("it rests", noPods)
		q.stops("None")
		allReplaced(before, j.runs(0, 0))
	})

	It("is taken into its queue while it runs, if the label comes late", func() {
		q = newQueue(2, held)
		j := submit(pytorch("late", gpuWorkers(2)))
		j.runs(0, 0)
		j.change(func(job *v1alpha1.TrainingJob) { job.Labels = map[string]string{v1alpha1.LabelQueue: q.name} })
		j.waits(q)
		q.stops("None")
		j.runs(0, 0)
	})

	It("is left alone if another controller runs it", func() {
		q = newQueue(2)
		job := pytorch("foreign", q.job(), gpuWorkers(1), managedBy("example.com/other"))
		j := submit(job)
		Expect(job.Spec.IsSuspended()).To(BeFalse(), "what the API server answered")
		q.submit("own", 1).runs(0, 0) // created later, so the adapter has seen both
		Expect(j.workload()).To(BeNil())
		Expect(j.look().job.ResourceVersion).To(Equal(job.ResourceVersion), "nobody has written it")
	})

	It("is scheduled as a gang once it is admitted, and has no group before", Label("since-1.37"), func() {
		q = newQueue(2, held)
		j := q.submit("gang", 2, gang(v1alpha1.GangNative))
		j.waits(q)
		gangSchedulers[0].hasGroups(j)
		q.stops("None")
		v := j.runs(0, 0)
		gangSchedulers[0].hasGroups(j, "gang-0")
		for i := range v.pods {
			Expect(v.pods[i].Spec.SchedulingGroup).NotTo(BeNil(), "the pod is one of the gang")
		}
		q.stops("HoldAndDrain")
		j.waits(q)
		gangSchedulers[0].hasGroups(j)
	})

	It("is admitted and runs beside a queued job that Go cannot decode", func() {
		q = newQueue(2)
		elsewhere, err := testbed.NewNamespace(here.ctx, kube, "odd-") // the suite itself reads the jobs of its namespace
		Expect(err).NotTo(HaveOccurred())
		odd := pytorch("odd", q.job(), gpuWorkers(1))
		odd.Namespace = elsewhere
		job, err := testbed.CreateUndecodable(here.ctx, kube, odd)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Delete(ctx, job)).To(Succeed()) })
		here.history.end()
		here.history = watchHistory(here.namespace) // the change of the CRD has ended the watch
		j := q.submit("beside", 2)
		j.runs(0, 0)
		j.exits(0, "worker-0")
		j.succeeds()
	})

	// The story makes the adapter do the rare things; the common ones it does anyway.
	It("needs no more rights of the adapter than manifests/components/kueue grants, and those are used", Label("lab"), func() {
		q = newQueue(4, held)
		q.submit("plain", 1).waits(q) // its priority is the cluster's default
		j := q.submit("rights", 2, elastic(1, 4), q.job(priorityLabel, workloadPriority(1)))
		j.waits(q)
		j.scale(3) // while it waits: its Workload is changed
		q.stops("None")
		v := j.runs(0, 0)
		v.is("three run", len(v.pods) == 3)
		j.scale(2) // while it runs: its Workload is made anew
		j.becomes("two run, both of them new", func(w *view) bool {
			return len(w.pods) == 2 && w.allRun() && w.uids()["worker-0"] != v.uids()["worker-0"]
		})
		j.exits(0, "worker-0")
		j.succeeds()
		Eventually(func() metav1.Condition { return j.queueSays("Finished") }).Should(HaveField("Reason", "Succeeded"))
		j.delete(metav1.DeletePropagationBackground)
		Eventually(j.workload).Should(BeNil())

		granted, used := verbsIn("../../../manifests/components/kueue/role.yaml"), verbsOf("trainingjob-kueue-adapter/")
		Expect(granted).To(ContainElements(used), "nothing is asked for that is not granted")
		granted = slices.DeleteFunc(granted, func(verb string) bool {
			return strings.HasPrefix(verb, "list ") || strings.HasPrefix(verb, "watch ") // a watch is in the log when it ends
		})
		rare := []string{
			"update trainingjobs/finalizers", // asked by admission, where OwnerReferencesPermissionEnforcement is on
			"patch events",                   // only for an Event that repeats
			"patch workloads",                // only for the annotation kueue.x-k8s.io/admission-gated-by
		}
		Expect(append(used, rare...)).To(ContainElements(granted), "nothing is granted that is never asked for")
	})
})
