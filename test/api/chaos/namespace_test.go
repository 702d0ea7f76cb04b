//go:build chaos

package chaos

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("A namespace", func() {
	It("is deleted while no operator runs: nothing is left, and the next operator has nothing to say", func() {
		p := newPlace()
		o := startOperator("")
		DeferCleanup(func() { o.Kill() })
		p.submit(replaced("a"), restarted("b"), tensorflow("c"))
		Eventually(p.running).Should(Equal(3), "jobs that run")
		o.Kill()
		ctx := context.Background()
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}
		Expect(kube.Delete(ctx, namespace)).To(Succeed())
		o = startOperator("") // the namespace is being taken apart
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, client.ObjectKeyFromObject(namespace), namespace))
		}).
			Should(BeTrue(), "the namespace does not go")
		o.Kill()
		o = startOperator("") // the namespace is gone
		Eventually(o.works).Should(BeTrue(), "the operator does not start")
		Consistently(func() []string { return complaints(o) }).WithTimeout(scaled(time.Second, 15*time.Second)).Should(BeEmpty())
		asked := requests()[o.user]
		Expect(asked).NotTo(BeEmpty(), "the audit log shows nothing of %s", o.user)
		for _, r := range asked {
			Expect(r.ObjectRef.Namespace).NotTo(Equal(p.namespace), "%s", r)
		}
		p.tape.each(func(a *account) { Expect(a.stillThere()).To(BeEmpty(), "pods of %s are left", a.job.Name) })
		Expect(p.tape.broken()).To(BeEmpty())
	})
})

// running returns how many jobs run.
func (p *place) running() (n int) {
	p.tape.each(func(a *account) {
		if p.plays[a.job.Name].settled(a) != nil {
			n++
		}
	})
	return n
}

// complaints returns what an operator logged as warning or error.
func complaints(o *operator) (lines []string) {
	GinkgoHelper()
	file, err := os.Open(o.log)
	Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		if strings.Contains(scanner.Text(), `"level":"ERROR"`) || strings.Contains(scanner.Text(), `"level":"WARN"`) {
			lines = append(lines, fmt.Sprintf("%s: %s", o.user, scanner.Text()))
		}
	}
	return lines
}
