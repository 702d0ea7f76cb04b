//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

var _ = Describe("The example", Serial, func() {
	alone, err := filepath.Glob("../../../examples/*.yaml")
	withPrograms, err2 := filepath.Glob("../../../examples/*/*.yaml")
	if err := errors.Join(err, err2); err != nil || len(alone) == 0 || len(withPrograms) == 0 {
		panic("there are no examples in ../../../examples: run the suite in test/api/e2e")
	}
	for _, file := range slices.Concat(alone, withPrograms) {
		It(strings.TrimPrefix(file, "../../../examples/")+" works as it is", needs(file), func() {
			gpusAreFree()
			offer("rdma/hca_shared_devices_a", 8)
			example := applyExample(file)
			j := &submitted{name: example.GetName(), generation: 1}
			if example.GetLabels()[v1alpha1.LabelQueue] != "" { // there is no such queue, and a queue alone starts the job
				j.reaches(v1alpha1.PhaseQueued)
				return
			}
			if suspended, _, _ := unstructured.NestedBool(example.Object, "spec", "suspend"); suspended {
				j.reaches(v1alpha1.PhaseSuspended)
				j.resume()
			}
			j.runs(0, 0)
		})
	}
})

// offer gives each fake node devices of that name.
func offer(device string, n int) {
	GinkgoHelper()
	var nodes corev1.NodeList
	Expect(kube.List(here.ctx, &nodes)).To(Succeed())
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if !testbed.IsFake(node) {
			continue
		}
		before := node.DeepCopy()
		amount := *resource.NewQuantity(int64(n), resource.DecimalSI)
		node.Status.Capacity[corev1.ResourceName(device)], node.Status.Allocatable[corev1.ResourceName(device)] = amount, amount
		Expect(kube.Status().Patch(here.ctx, node, client.MergeFrom(before))).To(Succeed())
	}
}

// gangOf is where an example names its gang scheduler.
var gangOf = regexp.MustCompile(`(?m)^ +gang: (\w+)`)

// needs returns the labels of the gang scheduler that the example needs.
func needs(file string) Labels {
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	if scheduler := gangOf.FindSubmatch(text); scheduler != nil {
		return Label("gang", string(scheduler[1]))
	}
	return nil
}

// applyExample creates everything in the file and returns its job. What the job needs comes after it in the file, as
// people read it; what pods need must come before them.
func applyExample(file string) *unstructured.Unstructured {
	GinkgoHelper()
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	var job *unstructured.Unstructured
	for _, document := range slices.Backward(strings.Split(string(text), "\n---\n")) {
		example := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(document), &example.Object)).To(Succeed())
		example.SetNamespace(here.namespace)
		if example.GetKind() == "PersistentVolumeClaim" {
			provide(here.namespace, &corev1.ObjectReference{Namespace: here.namespace, Name: example.GetName()})
		}
		if strings.Contains(document, "volumeClaimTemplate:") { // which names no class, and so takes any volume
			for i := range 4 {
				provide(fmt.Sprintf("%s-%d", here.namespace, i), nil)
			}
		}
		Expect(kube.Create(here.ctx, example, client.FieldValidation("Strict"))).To(Succeed())
		if example.GetKind() == v1alpha1.Kind {
			job = example
		}
	}
	Expect(job).NotTo(BeNil(), "%s has no TrainingJob", file)
	return job
}

// provide makes a volume for a claim, or for any if that is nil, as nothing in a lab does by itself.
func provide(name string, claim *corev1.ObjectReference) {
	GinkgoHelper()
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadWriteOnce},
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Ti")},
			ClaimRef:               claim,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/" + name}},
		},
	}
	Expect(kube.Create(here.ctx, volume)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(kube.Delete(ctx, volume)).To(Succeed()) })
}
