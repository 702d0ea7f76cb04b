//go:build chaos

package chaos

import (
	"context"
	"net/http"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The control plane", func() {
	It("is killed part by part and forgets its past, and the jobs end as they should", func() {
		p := newPlace()
		o := startOperator(p.namespace)
		DeferCleanup(o.Kill)
		p.submit(cast(scaled(21, 140))...)
		p.harm.begin(scaled(60*time.Millisecond, 30*time.Millisecond))
		for range scaled(1, 4) {
			lab.restart("kube-apiserver", time.Second)
			p.tape.compact()
			lab.restart("etcd", scaled(time.Second, 4*time.Second))
			lab.restart("kwok", 0)
			p.tape.compact()
			p.harm.goesOn(scaled(10, 50))
		}
		kubeletsTryAgain()
		p.conclude(scaled(2*time.Minute, 3*time.Minute))
		Expect(o.Ended).NotTo(BeClosed(), "the operator has ended")
		Expect(o.panics()).To(BeEmpty())
	})

	It("has no space in etcd for a while, and the jobs end as they should", func() {
		p := newPlace()
		o := startOperator(p.namespace)
		DeferCleanup(o.Kill)
		p.submit(cast(scaled(21, 140))...)
		for range scaled(1, 3) {
			p.harm.begin(scaled(60*time.Millisecond, 30*time.Millisecond))
			p.harm.goesOn(scaled(10, 40))
			Expect(o.Signal(syscall.SIGSTOP)).To(Succeed()) // what breaks from now on is written when there is no space
			p.harm.goesOn(scaled(3, 10))
			p.harm.stop() // it breaks no pod twice, even if the API server refused the first time
			before := refused(o)
			makeSpace := lab.fill()
			o.thaw()
			Eventually(func() int { return refused(o) - before }).WithPolling(time.Second).
				Should(BeNumerically(">=", scaled(20, 100)), "etcd takes what the operator writes")
			makeSpace()
		}
		kubeletsTryAgain()
		p.conclude(scaled(2*time.Minute, 3*time.Minute))
		say("%d requests were refused", refused(o))
		Expect(o.Ended).NotTo(BeClosed(), "the operator has ended")
		Expect(o.panics()).To(BeEmpty())
	})
})

// kubeletsTryAgain restarts kwok now and every 15 s until the spec ends: unlike a kubelet, it retries nothing that failed. When it
// starts it looks at all pods, and misses what changes meanwhile: on a busy machine, one restart leaves pods that never run.
func kubeletsTryAgain() {
	GinkgoHelper()
	lab.restart("kwok", 0)
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		defer GinkgoRecover()
		for tick := time.Tick(15 * time.Second); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick:
				lab.restart("kwok", 0)
			}
		}
	})
	DeferCleanup(func() {
		cancel()
		done.Wait()
	})
}

// refused returns how many requests of the operator the API server could not serve.
func refused(o *operator) (n int) {
	for _, r := range requests()[o.user] {
		if r.ResponseStatus.Code >= http.StatusInternalServerError {
			n++
		}
	}
	return n
}
