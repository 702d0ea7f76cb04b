//go:build e2e

package e2e

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var _ = Describe("The example", Serial, func() {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		panic("there are no examples in ../../examples: run the suite in test/e2e")
	}
	for _, file := range files {
		It(filepath.Base(file)+" works as it is", func() {
			gpusAreFree()
			text, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			example := &unstructured.Unstructured{}
			Expect(yaml.Unmarshal(text, &example.Object)).To(Succeed())
			example.SetNamespace(here.namespace)
			Expect(kube.Create(here.ctx, example, client.FieldValidation("Strict"))).To(Succeed())
			j := &submitted{name: example.GetName(), generation: 1}
			if suspended, _, _ := unstructured.NestedBool(example.Object, "spec", "suspend"); suspended {
				j.reaches(v1alpha1.PhaseSuspended)
				j.resume()
			}
			j.runs(0, 0)
		})
	}
})
