//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/ledger"
)

// lease returns the job's progress Lease, once it is there.
func (j *submitted) lease() *coordinationv1.Lease {
	GinkgoHelper()
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: here.namespace, Name: j.name + "-progress"}
	Eventually(func() error { return kube.Get(here.ctx, key, lease) }).Should(Succeed(), "the progress Lease of %s", j.name)
	return lease
}

// reports does what a side-car does: it renews the Lease with one patch.
func (j *submitted) reports(step int, checkpoint string) {
	GinkgoHelper()
	Expect(j.renew(here.ctx, step, checkpoint)).To(Succeed())
}

func (j *submitted) renew(ctx context.Context, step int, checkpoint string) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: here.namespace, Name: j.name + "-progress"}}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d",%q:%q}},"spec":{"renewTime":%q}}`, v1alpha1.AnnotationStep, step,
		v1alpha1.AnnotationCheckpoint, checkpoint, time.Now().UTC().Format(metav1.RFC3339Micro))
	return kube.Patch(ctx, lease, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// isAt waits until the status shows the step.
func (j *submitted) isAt(step int64) *view {
	GinkgoHelper()
	return j.becomes(fmt.Sprintf("step %d", step), func(v *view) bool { return v.job.Status.Progress != nil && v.job.Status.Progress.Step == step })
}

var _ = Describe("Progress", func() {
	It("is reported through a Lease that the job owns, the pods know by name, and the status repeats", promise, func() {
		j := submit(pytorch("p", reporting(600, v1alpha1.StallNotify), master(), workers(1)))
		v := j.runs(0, 0)
		lease := j.lease()
		Expect(metav1.IsControlledBy(lease, v.job)).To(BeTrue(), "the job controls the Lease: %v", lease.OwnerReferences)
		for i := range v.pods {
			Expect(ledger.Env(&v.pods[i])).To(HaveKeyWithValue(v1alpha1.EnvProgressLease, lease.Name))
			v.is("the Lease is there before the pods", !v.pods[i].CreationTimestamp.Before(&lease.CreationTimestamp))
		}
		v.is("nothing is said before the first report", v.job.Status.Progress == nil && v.condition(v1alpha1.ConditionProgressing).Type == "")
		j.reports(100, "s3://runs/p/100")
		v = j.isAt(100)
		Expect(v.job.Status.Progress.Checkpoint).To(Equal("s3://runs/p/100"))
		v.is("it is Progressing", v.isTrue(v1alpha1.ConditionProgressing))
		j.reports(90, "s3://runs/p/90")
		v = j.becomes("the checkpoint is the latest", func(v *view) bool { return v.job.Status.Progress.Checkpoint == "s3://runs/p/90" })
		v.is("the step is the highest", v.job.Status.Progress.Step == 100)
		Expect(kube.Delete(here.ctx, lease)).To(Succeed())
		Eventually(func() types.UID { return j.lease().UID }).ShouldNot(Equal(lease.UID), "a deleted Lease comes back")
		j.isAt(100)
		j.exits(0, "master-0")
		v = j.succeeds()
		v.is("a finished job is not Progressing", v.condition(v1alpha1.ConditionProgressing).Type == "" && v.job.Status.Progress.Step == 100)
	})

	It("is not asked of a job without spec.progress", func() {
		j := submit(pytorch("p", workers(1)))
		v := j.runs(0, 0)
		Expect(ledger.Env(v.pod("worker-0"))).NotTo(HaveKey(v1alpha1.EnvProgressLease))
		var leases coordinationv1.LeaseList
		Expect(kube.List(here.ctx, &leases, client.InNamespace(here.namespace))).To(Succeed())
		Expect(leases.Items).To(BeEmpty())
	})

	It("that does not come fails the job after noProgressLimit restarts, whatever its budgets", func() {
		limit := recovering(func(r *v1alpha1.Recovery) { n := int32(1); r.NoProgressLimit = &n })
		j := submit(pytorch("p", reporting(600, v1alpha1.StallNotify), limit, workers(2)))
		j.runs(0, 0)
		j.reports(5, "")
		j.isAt(5)
		j.exits(1, "worker-1")
		v := j.runs(1, 1)
		v.is("it is one restart without progress", v.job.Status.Memory.RestartsWithoutProgress == 1)
		j.reports(6, "")
		v = j.isAt(6)
		v.is("a newer step forgives it", v.job.Status.Memory.RestartsWithoutProgress == 0)
		j.exits(1, "worker-1")
		j.runs(2, 2)
		j.exits(1, "worker-0")
		v = j.fails(v1alpha1.ReasonNoProgress)
		v.is("it says where it is stuck", containsAll(v.job.Status.Message, []string{"worker-0", "recovery.noProgressLimit (1)", "step 6"}))
	})
})

// These take 10 s, the least time after which a job may be called stalled, and so share it.
var _ = Describe("A job that stops to report progress", Ordered, func() {
	var told, restarted, well *submitted
	BeforeAll(func() {
		told = submit(pytorch("told", reporting(10, v1alpha1.StallNotify), workers(2)))
		restarted = submit(pytorch("restarted", reporting(10, v1alpha1.StallRestart), maxRestarts(0), master(), workers(1)))
		well = submit(pytorch("well", reporting(10, v1alpha1.StallRestart), workers(1)))
		for _, j := range []*submitted{told, restarted, well} {
			j.runs(0, 0)
			j.lease()
			j.reports(7, "")
		}
		ctx, stop := context.WithCancel(here.ctx)
		DeferCleanup(stop)
		go func() {
			for step := 8; ctx.Err() == nil; step++ {
				_ = well.renew(ctx, step, "") // a side-car that fails once tries again
				time.Sleep(time.Second)
			}
		}()
	})

	It("is Progressing=False and an Event, and with action Notify no more", func() {
		v := told.becomes("it is stalled", func(v *view) bool { return v.condition(v1alpha1.ConditionProgressing).Status == metav1.ConditionFalse })
		v.is("it says since when nothing came", containsAll(v.condition(v1alpha1.ConditionProgressing).Message, []string{"told-progress", "10s", "the last step was 7"}))
		v.is("it runs on", v.job.Status.Phase == v1alpha1.PhaseRunning && v.job.Status.Restarts == 0)
		told.told(v1alpha1.ReasonProgressStalled, 1)
		told.reports(9, "")
		told.becomes("it goes on", func(v *view) bool { return v.isTrue(v1alpha1.ConditionProgressing) })
		told.told(v1alpha1.ReasonProgressStalled, 1)
	})

	It("is restarted as a whole with action Restart, and charged as a Hang", promise, func() {
		v := restarted.runs(1, 1)
		i := incident(v, v1alpha1.CauseHang, v1alpha1.ReasonProgressStalled)
		v.is("it is the leader's and the others follow", i.Role == v1alpha1.Master && i.Followers == 1 && i.Charged)
		used, limit := v.budget(v1alpha1.BudgetHangRestarts)
		v.is("it is charged to maxHangRestarts", used == 1 && limit == 5)
		restarted.tells(v1alpha1.EventRestarting, "master-0", "hangs", "restart 1 of 5")
	})

	It("is not one that renews its Lease in time", func() {
		v := well.look()
		v.is("it was left alone", v.job.Status.Restarts == 0 && v.isTrue(v1alpha1.ConditionProgressing))
		well.told(v1alpha1.ReasonProgressStalled, 0)
	})
})
