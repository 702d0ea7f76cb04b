//go:build chaos

package chaos

import (
	"context"
	"io"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

var _ = Describe("A job that Go cannot decode", func() {
	It("is skipped, named and taken up once it is mended; jobs of other namespaces go on, under a new operator too", func() {
		attacker, err := testbed.NewNamespace(context.Background(), kube, "chaos-")
		Expect(err).NotTo(HaveOccurred())
		victim := newPlace()
		metrics := freeAddress()
		health := freeAddress()
		serve := []string{"--metrics-bind-address", metrics, "--metrics-secure=false", "--health-probe-bind-address", health}
		o := startOperator("", serve...)
		DeferCleanup(func() { o.Kill() })
		Eventually(o.works).Should(BeTrue())
		odd := quick("odd").job
		odd.Namespace = attacker
		job, err := testbed.CreateUndecodable(context.Background(), kube, odd)
		Expect(err).NotTo(HaveOccurred())

		victim.succeeds("beside")
		Eventually(func() string { return page(metrics, "/metrics") }).Should(ContainSubstring(`trainingjob_undecodable_objects{kind="TrainingJob.trainingjob.dev"} 1`))
		Expect(page(health, "/readyz")).To(Equal("ok"))
		Eventually(func() string { return eventAbout(job) }).Should(And(ContainSubstring("cannot be decoded"), ContainSubstring("99999999999")))

		o.Kill()
		o = startOperator("", serve...)
		victim.succeeds("after")
		Expect(page(health, "/readyz")).To(Equal("ok"))

		for _, patch := range []string{`[{"op":"replace","path":"/spec/suspend","value":true}]`, mendPort} { // templates change only while a job is suspended
			Expect(kube.Patch(context.Background(), job, client.RawPatch(types.JSONPatchType, []byte(patch)))).To(Succeed())
		}
		Eventually(func() (phase string) {
			Expect(kube.Get(context.Background(), client.ObjectKeyFromObject(job), job)).To(Succeed())
			phase, _, _ = unstructured.NestedString(job.Object, "status", "phase")
			return phase
		}).ShouldNot(BeEmpty(), "the job that was mended is not taken up")
		Eventually(func() string { return page(metrics, "/metrics") }).Should(ContainSubstring(`trainingjob_undecodable_objects{kind="TrainingJob.trainingjob.dev"} 0`))
		Expect(kube.Delete(context.Background(), job)).To(Succeed())
	})
})

// succeeds fails the spec unless a job of that name runs and succeeds within half a minute.
func (p *place) succeeds(name string) {
	GinkgoHelper()
	witness := quick(name)
	p.submit(witness)
	Eventually(func() v1alpha1.Phase {
		job := &v1alpha1.TrainingJob{}
		Expect(kube.Get(context.Background(), client.ObjectKeyFromObject(witness.job), job)).To(Succeed())
		return job.Status.Phase
	}).WithTimeout(30 * time.Second).Should(Equal(v1alpha1.PhaseSucceeded))
}

// mendPort is a patch of a job's probe.
const mendPort = `[{"op":"replace","path":"/spec/replicaSpecs/Worker/template/spec/containers/0/livenessProbe","value":{"httpGet":{"port":8080}}}]`

// page returns what a page of an operator says, or the error.
func page(address, path string) string {
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// eventAbout returns the first Event about the object.
func eventAbout(o client.Object) string {
	GinkgoHelper()
	var events corev1.EventList
	Expect(kube.List(context.Background(), &events, client.InNamespace(o.GetNamespace()))).To(Succeed())
	for i := range events.Items {
		if e := &events.Items[i]; e.InvolvedObject.Name == o.GetName() && e.Reason == "Undecodable" {
			return e.Message
		}
	}
	return ""
}
