//go:build chaos

package chaos

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// How long a leader's lease lasts here, and how long the leader tries to renew it.
const (
	leaseDuration = 2 * time.Second
	renewDeadline = 1500 * time.Millisecond
)

var _ = Describe("Two operators", func() {
	It("take turns: one whose lease has run out, killed or frozen, writes nothing that counts", func() {
		p := newPlace()
		e := &electorate{place: p}
		DeferCleanup(e.end)
		e.join()
		e.waitForLeader("")
		e.join()
		p.submit(cast(scaled(21, 105))...)
		p.harm.begin(scaled(40*time.Millisecond, 25*time.Millisecond))
		for round := range scaled(1, 5) {
			say("round %d: %s leads and is killed", round, e.leader.user)
			e.depose(e.leader.kill)
			p.submit(wide(fmt.Sprintf("%d", round), scaled[int32](100, 400))) // its pods are being created when the leader freezes
			say("round %d: %s leads and is frozen", round, e.leader.user)
			former := e.leader
			e.depose(former.freeze)
			former.thaw()
			Eventually(former.ended).Should(BeClosed(), "%s, frozen until another one led, goes on as if it led", former.user)
		}
		p.conclude(scaled(time.Minute, 3*time.Minute))
		e.judge()
	})
})

// wide is a job of many pods, which takes a while to create.
func wide(name string, pods int32) *play {
	w := replaced("wide" + name)
	*w.job.Spec.ReplicaSpecs["Worker"].Replicas = pods
	return w
}

// electorate is the operators of a place, of which one leads.
type electorate struct {
	place   *place
	members []*operator
	leader  *operator
	holder  string
}

// join starts an operator more.
func (e *electorate) join() {
	GinkgoHelper()
	e.members = append(e.members, startOperator(e.place.namespace, "--leader-elect", "--leader-election-namespace", e.place.namespace,
		"--leader-elect-lease-duration", leaseDuration.String(), "--leader-elect-renew-deadline", renewDeadline.String(), "--leader-elect-retry-period=300ms"))
}

// depose does to the leader what ends its time, waits until the other operator leads and lets another one join.
func (e *electorate) depose(how func()) {
	GinkgoHelper()
	how()
	e.waitForLeader(e.holder)
	e.join()
}

// waitForLeader waits until somebody else than the former holder has the lease. There are never more than two who can take it.
func (e *electorate) waitForLeader(former string) {
	GinkgoHelper()
	lease := &coordinationv1.Lease{}
	Eventually(func() string {
		err := kube.Get(context.Background(), client.ObjectKey{Namespace: e.place.namespace, Name: "trainingjob-operator"}, lease)
		if err != nil || lease.Spec.HolderIdentity == nil {
			return former
		}
		return *lease.Spec.HolderIdentity
	}).ShouldNot(Or(Equal(former), BeEmpty()), "nobody takes the lease over from %s", former)
	e.holder, e.leader = *lease.Spec.HolderIdentity, e.members[len(e.members)-1]
}

func (e *electorate) end() {
	for _, o := range e.members {
		o.kill()
		Expect(o.panics()).To(BeEmpty(), "%s panicked", o.user)
	}
}

// judge shows by the audit log that nobody changed anything after his lease had run out.
func (e *electorate) judge() {
	GinkgoHelper()
	var harmful []string
	refused, wrote := 0, 0
	all := requests()
	for _, o := range e.members {
		ranOut := leaseOf(all[o.user])
		for _, r := range all[o.user] {
			switch late := r.Received.After(ranOut); {
			case !r.writes() || r.ObjectRef.Resource == "leases":
			case !late:
				wrote++
			case r.wasRefused():
				refused++
			default:
				harmful = append(harmful, fmt.Sprintf("%s, whose lease ran out at %s: %s", o.user, ranOut.Format("15:04:05.000"), r))
			}
		}
	}
	say("%d operators wrote %d times while they led; after that %d of their requests were refused and %d not", len(e.members), wrote, refused, len(harmful))
	Expect(wrote).To(BeNumerically(">", 100), "the audit log shows hardly any writes: this proves nothing")
	Expect(harmful).To(BeEmpty(), "requests that changed something after the lease of their sender had run out")
}

// leaseOf returns when the sender's lease ran out: one lease after he renewed it last.
func leaseOf(sent []*request) (ranOut time.Time) {
	for _, r := range sent {
		if r.ObjectRef.Resource == "leases" && r.writes() && !r.wasRefused() {
			ranOut = r.Answered.Add(leaseDuration)
		}
	}
	return ranOut
}
