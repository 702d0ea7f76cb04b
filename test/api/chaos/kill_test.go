//go:build chaos

package chaos

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The operator", func() {
	It("is killed every two seconds while pods break, and counts every failure once", func() {
		p := newPlace()
		m := startMortal(p.namespace, 2*time.Second)
		p.submit(cast(scaled(42, 301))...)
		p.harm.begin(scaled(60*time.Millisecond, 25*time.Millisecond))
		time.Sleep(scaled(8*time.Second, 3*time.Minute)) // not to wait for anything: for so long it is broken
		killed := m.spare()                              // from now on every job must get on: on a busy machine an operator that lives for 2 s hardly starts
		p.conclude(scaled(2*time.Minute, 5*time.Minute))
		say("the operator was killed %d times", killed)
		Expect(killed).To(BeNumerically(">=", 3))
	})
})
