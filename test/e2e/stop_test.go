//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/builder"
)

// isAsked waits until every pod shows what its rank is asked, and returns the request's id and reason.
func (j *submitted) isAsked() (id, reason string) {
	GinkgoHelper()
	v := j.becomes("every rank is asked", func(v *view) bool {
		asked := v.job.Status.CheckpointRequest != nil && len(v.pods) > 0
		for i := range v.pods {
			asked = asked && v.pods[i].Annotations["trainingjob.dev/checkpoint-request"] != ""
		}
		return asked
	})
	words := strings.Fields(v.pods[0].Annotations["trainingjob.dev/checkpoint-request"])
	Expect(words).To(HaveLen(3), "id, reason and deadline")
	v.is("it runs on, and says why", v.job.Status.Phase == v1alpha1.PhaseRunning && v.job.Status.Reason == "StopAsked")
	return words[0], words[1]
}

// saves does what a program does that was asked: it reports a step and a checkpoint, and for which request.
func (j *submitted) saves(id string, step int) {
	GinkgoHelper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: here.namespace, Name: j.name + "-progress"}}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"trainingjob.dev/step":"%d","trainingjob.dev/checkpoint":"step-%d","trainingjob.dev/saved-for":%q}},"spec":{"renewTime":%q}}`,
		step, step, id, time.Now().UTC().Format(metav1.RFC3339Micro))
	Expect(kube.Patch(here.ctx, lease, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

var _ = Describe("Ranks that are well", func() {
	const patience = 600 // an answer ends the wait in these specs, or somebody's change of mind
	asking := builder.Asking(patience)

	It("save a checkpoint before a suspension stops them", promise, func() {
		j := submit(pytorch("p", master(), workers(2), asking))
		before := j.runs(0, 0)
		j.suspend()
		id, reason := j.isAsked()
		Expect(reason).To(Equal("SuspendedBySpec"))
		j.tells("StopAsked", "save a checkpoint", "SuspendedBySpec")
		j.saves("0-0", 41)
		j.isAt(41)
		j.stays("what answers another request stops nobody", func(v *view) bool { return isSame(before.uids(), v) && v.job.Status.Phase == v1alpha1.PhaseRunning })
		j.saves(id, 42)
		v := j.becomes("it is suspended", func(v *view) bool { return v.job.Status.Phase == v1alpha1.PhaseSuspended && len(v.pods) == 0 })
		v.is("nothing is asked any more", v.job.Status.CheckpointRequest == nil)
		j.tells("CheckpointSaved", "step 42 in step-42")
		j.resume()
		v = j.runs(0, 0)
		for i := range v.pods {
			Expect(v.pods[i].Annotations).NotTo(HaveKey("trainingjob.dev/checkpoint-request"), v.pods[i].Name)
		}
	})

	It("are not stopped if they are needed again in the meantime", func() {
		j := submit(pytorch("p", master(), workers(1), asking))
		before := j.runs(0, 0)
		j.suspend()
		j.isAsked()
		j.resume()
		j.becomes("nothing is asked any more", func(v *view) bool {
			return v.job.Status.CheckpointRequest == nil && isSame(before.uids(), v) && v.pods[0].Annotations["trainingjob.dev/checkpoint-request"] == ""
		})
		j.exits(0, "master-0")
		j.succeeds()
	})

	It("save a checkpoint before a restart in place that is asked for, and are asked anew each time", func() {
		inPlace := builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartInPlace })
		j := submit(pytorch("p", master(), workers(1), asking, inPlace))
		before := j.runs(0, 0)
		for n := range int32(2) {
			j.asksForRestart(fmt.Sprint("round ", n))
			id, reason := j.isAsked()
			Expect(reason).To(Equal("RestartRequested"))
			j.saves(id, int(n)+1)
			v := j.runs(n+1, n+1)
			v.is("the pods are the same", isSame(before.uids(), v))
			for i := range v.pods {
				Expect(v.pods[i].Annotations).NotTo(HaveKey("trainingjob.dev/checkpoint-request"), v.pods[i].Name)
			}
		}
	})

	It("save a checkpoint while one of them is drained, within its grace period", func() {
		j := submit(pytorch("p", master(), workers(1, builder.Doing("terminate-after", "15s")), asking))
		j.runs(0, 0)
		j.evict("worker-0")
		id, reason := j.isAsked()
		Expect(reason).To(Equal("EvictionByEvictionAPI"))
		j.saves(id, 7)
		j.becomes("the job restarts", func(v *view) bool { return v.job.Status.Attempt == 1 && v.job.Status.CheckpointRequest == nil })
		j.tells("CheckpointSaved", "step 7")
	})

	It("that do not answer are stopped when their time is over", func() {
		j := submit(pytorch("p", master(), workers(1), builder.Asking(3)))
		j.runs(0, 0)
		j.suspend()
		j.isAsked()
		j.becomes("it is suspended", func(v *view) bool { return v.job.Status.Phase == v1alpha1.PhaseSuspended })
		j.tells("CheckpointMissed", "No rank has confirmed")
	})
})
