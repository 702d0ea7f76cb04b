//go:build chaos

package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/api/testbed"
)

// How long a leader's lease lasts here, and how long the leader tries to renew it.
const (
	leaseDuration = 3 * time.Second
	renewDeadline = 2 * time.Second
)

var _ = Describe("Two operators", func() {
	It("take turns: one whose lease has run out, killed or frozen, writes nothing that counts", func() {
		p := newPlace()
		e := &electorate{place: p}
		DeferCleanup(e.end)
		e.keepTwo()
		e.waitForLeader()
		p.submit(cast(scaled(21, 105))...)
		p.harm.begin(scaled(40*time.Millisecond, 25*time.Millisecond))
		for round := range scaled(1, 5) {
			say("round %d: %s led and was killed", round, e.depose(syscall.SIGKILL).user)
			p.submit(wide(fmt.Sprintf("%d", round), scaled[int32](100, 400))) // its pods are being created when the leader freezes
			former := e.depose(syscall.SIGSTOP)
			say("round %d: %s led and was frozen", round, former.user)
			former.thaw()
			Eventually(former.Ended).Should(BeClosed(), "%s, frozen until another one led, goes on as if it led", former.user)
		}
		p.conclude(scaled(2*time.Minute, 3*time.Minute))
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
	place *place
	stop  context.CancelFunc
	done  sync.WaitGroup
	mu    sync.Mutex
	// members are all there ever were, candidates those that have not been killed or frozen.
	members, candidates []*operator
	holder              string
}

// keepTwo sees to it that there are always two candidates. One that has ended by itself, as an operator does that could not
// renew its lease in time, is replaced as the kubelet would.
func (e *electorate) keepTwo() {
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	e.done.Go(func() {
		defer GinkgoRecover()
		for tick := time.Tick(100 * time.Millisecond); ctx.Err() == nil; <-tick {
			e.join()
		}
	})
}

// join starts operators until there are two candidates.
func (e *electorate) join() {
	GinkgoHelper()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.candidates = slices.DeleteFunc(e.candidates, func(o *operator) bool { return o.HasEnded() })
	for len(e.candidates) < 2 {
		o := startOperator(e.place.namespace, "--leader-elect", "--leader-election-namespace", e.place.namespace,
			"--leader-elect-lease-duration", leaseDuration.String(), "--leader-elect-renew-deadline", renewDeadline.String(), "--leader-elect-retry-period=300ms")
		e.members, e.candidates = append(e.members, o), append(e.candidates, o)
	}
}

// depose sends the leader the signal that ends its time, waits until another one leads and returns the former. A leader that
// has just ended by itself is none.
func (e *electorate) depose(signal syscall.Signal) (former *operator) {
	GinkgoHelper()
	Eventually(func() error {
		former = e.lastToRenew() // it may have changed since somebody looked
		return former.Signal(signal)
	}).Should(Succeed(), "nobody leads")
	e.mu.Lock()
	e.candidates = slices.DeleteFunc(e.candidates, func(o *operator) bool { return o == former })
	e.mu.Unlock()
	e.waitForLeader()
	return former
}

// waitForLeader waits until somebody else than the former holder has the lease.
func (e *electorate) waitForLeader() {
	GinkgoHelper()
	lease := &coordinationv1.Lease{}
	Eventually(func() string {
		err := kube.Get(context.Background(), client.ObjectKey{Namespace: e.place.namespace, Name: "trainingjob-operator"}, lease)
		if err != nil || lease.Spec.HolderIdentity == nil {
			return e.holder
		}
		return *lease.Spec.HolderIdentity
	}).ShouldNot(Or(Equal(e.holder), BeEmpty()), "nobody takes the lease over from %s", e.holder)
	e.holder = *lease.Spec.HolderIdentity
}

// lastToRenew returns who wrote the lease last.
func (e *electorate) lastToRenew() (last *operator) {
	GinkgoHelper()
	var latest time.Time
	all := requests()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, o := range e.members {
		if end := leaseOf(all[o.user]); end.After(latest) {
			last, latest = o, end
		}
	}
	Expect(last).NotTo(BeNil(), "the audit log does not show who renews the lease")
	return last
}

func (e *electorate) end() {
	e.stop()
	e.done.Wait()
	for _, o := range e.members {
		o.Kill()
		Expect(o.panics()).To(BeEmpty(), "%s panicked", o.user)
	}
}

// sending is how long after its thaw a process may still send what it was about to send when it was frozen. No client can take
// that back; that it does no harm is shown by the counts, and by the simulator, which freezes before every write.
const sending = 250 * time.Millisecond

// judge shows by the audit log that nobody decided anything after his lease had run out.
func (e *electorate) judge() {
	GinkgoHelper()
	var harmful []string
	refused, wrote, underWay := 0, 0, 0
	e.stop()
	e.done.Wait()
	all := requests()
	for _, o := range e.members {
		ranOut := leaseOf(all[o.user])
		for _, r := range all[o.user] {
			switch late := r.Received.After(ranOut); {
			case !r.Writes() || r.ObjectRef.Resource == "leases":
			case !late:
				wrote++
			case r.WasRefused():
				refused++
			case !o.thawed.IsZero() && r.Received.Before(o.thawed.Add(sending)):
				underWay++
			default:
				harmful = append(harmful, fmt.Sprintf("%s, whose lease ran out at %s: %s", o.user, ranOut.Format("15:04:05.000"), r))
			}
		}
	}
	say("%d operators wrote %d times while they led; %d requests were on their way when their sender was frozen; after that %d were refused and %d not",
		len(e.members), wrote, underWay, refused, len(harmful))
	Expect(wrote).To(BeNumerically(">", 100), "the audit log shows hardly any writes: this proves nothing")
	Expect(harmful).To(BeEmpty(), "requests that changed something after the lease of their sender had run out")
}

// leaseOf returns when the sender's lease ran out: one lease after he renewed it last.
func leaseOf(sent []*testbed.Request) (ranOut time.Time) {
	for _, r := range sent {
		if r.ObjectRef.Resource == "leases" && r.Writes() && !r.WasRefused() {
			ranOut = r.Answered.Add(leaseDuration)
		}
	}
	return ranOut
}
