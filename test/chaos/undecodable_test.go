//go:build chaos

package chaos

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/testbed"
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
		odd := undecodable(attacker)

		victim.succeeds("beside")
		Eventually(func() string { return page(metrics, "/metrics") }).Should(ContainSubstring(`trainingjob_undecodable_objects{kind="TrainingJob.trainingjob.dev"} 1`))
		Expect(page(health, "/readyz")).To(Equal("ok"))
		Eventually(func() string { return eventAbout(odd) }).Should(And(ContainSubstring("cannot be decoded"), ContainSubstring("99999999999")))

		o.Kill()
		o = startOperator("", serve...)
		victim.succeeds("after")
		Expect(page(health, "/readyz")).To(Equal("ok"))

		for _, patch := range []string{`[{"op":"replace","path":"/spec/suspend","value":true}]`, mendPort} { // templates change only while a job is suspended
			Expect(kube.Patch(context.Background(), odd, client.RawPatch(types.JSONPatchType, []byte(patch)))).To(Succeed())
		}
		Eventually(func() (phase string) {
			Expect(kube.Get(context.Background(), client.ObjectKeyFromObject(odd), odd)).To(Succeed())
			phase, _, _ = unstructured.NestedString(odd.Object, "status", "phase")
			return phase
		}).ShouldNot(BeEmpty(), "the job that was mended is not taken up")
		Eventually(func() string { return page(metrics, "/metrics") }).Should(ContainSubstring(`trainingjob_undecodable_objects{kind="TrainingJob.trainingjob.dev"} 0`))
		Expect(kube.Delete(context.Background(), odd)).To(Succeed())
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

// mendPort is a patch of a job's probe, and schemaOfPort where the CRD says what its port may be.
const (
	mendPort     = `[{"op":"replace","path":"/spec/replicaSpecs/Worker/template/spec/containers/0/livenessProbe","value":{"httpGet":{"port":8080}}}]`
	schemaOfPort = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/replicaSpecs/additionalProperties/properties/template/properties/spec" +
		"/properties/containers/items/properties/livenessProbe/properties/httpGet/properties/port"
)

// undecodable creates a job with a port beyond int32. The CRD refuses it, so the CRD lacks the bound for that long, as an older one does.
func undecodable(namespace string) *unstructured.Unstructured {
	GinkgoHelper()
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	Expect(kube.Get(context.Background(), client.ObjectKey{Name: "trainingjobs." + v1alpha1.Group}, crd)).To(Succeed())
	bound := valueAt(crd.Object, schemaOfPort)
	setBound := func(value any) {
		text, err := json.Marshal([]map[string]any{{"op": "replace", "path": schemaOfPort, "value": value}})
		Expect(err).NotTo(HaveOccurred())
		Expect(kube.Patch(context.Background(), crd, client.RawPatch(types.JSONPatchType, text))).To(Succeed())
	}
	setBound(map[string]any{"x-kubernetes-preserve-unknown-fields": true})
	defer setBound(bound)

	whole, err := json.Marshal(quick("odd").job)
	Expect(err).NotTo(HaveOccurred())
	job := &unstructured.Unstructured{}
	Expect(json.Unmarshal(whole, &job.Object)).To(Succeed())
	job.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	job.SetNamespace(namespace)
	containers, _, err := unstructured.NestedSlice(job.Object, "spec", "replicaSpecs", "Worker", "template", "spec", "containers")
	Expect(err).NotTo(HaveOccurred())
	containers[0].(map[string]any)["livenessProbe"] = map[string]any{"httpGet": map[string]any{"port": int64(99999999999)}}
	Expect(unstructured.SetNestedSlice(job.Object, containers, "spec", "replicaSpecs", "Worker", "template", "spec", "containers")).To(Succeed())
	Eventually(func() error { return kube.Create(context.Background(), job.DeepCopy()) }).Should(Succeed())
	return job
}

// valueAt returns what is at a JSON pointer.
func valueAt(object any, pointer string) any {
	GinkgoHelper()
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch o := object.(type) {
		case map[string]any:
			object = o[step]
		case []any:
			Expect(step).To(Equal("0"), "the first is all that is needed here")
			object = o[0]
		}
	}
	Expect(object).NotTo(BeNil(), pointer)
	return object
}

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
