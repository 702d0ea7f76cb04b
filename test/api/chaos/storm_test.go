//go:build chaos

package chaos

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var _ = Describe("The API server", func() {
	It("refuses every request of the operator with 429 for a while, and no job is lost", func() {
		p := newPlace()
		o := startOperator(p.namespace)
		DeferCleanup(o.Kill)
		p.submit(cast(scaled(21, 140))...)
		p.harm.begin(scaled(60*time.Millisecond, 30*time.Millisecond))
		p.harm.goesOn(scaled(10, 40))
		for range scaled(1, 3) {
			before := stormed(o)
			stop := storm()
			p.submit(quick("inthestorm" + time.Now().Format("150405")))
			Eventually(func() int { return stormed(o) - before }).WithPolling(time.Second).
				Should(BeNumerically(">=", scaled(40, 150)), "the API server refuses nothing")
			stop()
			p.harm.goesOn(scaled(10, 40))
		}
		p.conclude(scaled(2*time.Minute, 3*time.Minute))
		say("%d requests were answered with 429", stormed(o))
		Expect(o.Ended).NotTo(BeClosed(), "the operator has ended")
		Expect(o.panics()).To(BeEmpty())
	})
})

// stormed returns how many requests of the operator were answered with 429.
func stormed(o *operator) (n int) {
	for _, r := range requests()[o.user] {
		if r.ResponseStatus.Code == http.StatusTooManyRequests {
			n++
		}
	}
	return n
}

// storm gives the operators no share of the API server at all, until stop.
func storm() (stop func()) {
	GinkgoHelper()
	level := &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "chaos-storm"}}
	level.Spec.Type = flowcontrolv1.PriorityLevelEnablementLimited
	level.Spec.Limited = &flowcontrolv1.LimitedPriorityLevelConfiguration{
		NominalConcurrencyShares: ptr.To[int32](0), BorrowingLimitPercent: ptr.To[int32](0),
		LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject},
	}
	flow := &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: "chaos-storm"}}
	flow.Spec.PriorityLevelConfiguration.Name, flow.Spec.MatchingPrecedence = level.Name, 2
	flow.Spec.Rules = []flowcontrolv1.PolicyRulesWithSubjects{{
		Subjects: []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: operators}}},
		ResourceRules: []flowcontrolv1.ResourcePolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"},
			Namespaces: []string{"*"}, ClusterScope: true}},
	}}
	ctx := context.Background()
	Expect(kube.Create(ctx, level)).To(Succeed())
	Expect(kube.Create(ctx, flow)).To(Succeed())
	over := false
	stop = func() {
		if !over {
			Expect(kube.Delete(ctx, flow)).To(Succeed())
			Expect(kube.Delete(ctx, level)).To(Succeed())
			over = true
		}
	}
	DeferCleanup(stop)
	return stop
}
