//go:build chaos

package chaos

import (
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
			lab.restart("kwok", 0) // it does not repeat what failed while etcd was dead, as a kubelet does, but it begins with all pods anew
			p.tape.compact()
			p.harm.goesOn(scaled(10, 50))
		}
		p.conclude(scaled(2*time.Minute, 3*time.Minute))
		Expect(o.Ended).NotTo(BeClosed(), "the operator has ended")
		Expect(o.panics()).To(BeEmpty())
	})
})
