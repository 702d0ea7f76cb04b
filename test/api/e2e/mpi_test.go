//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// mpiRights are what manifests/components/mpi adds to manifests/base.
const mpiRights = "../../../manifests/components/mpi/role.yaml"

// letOperatorMakeKeys applies manifests/components/mpi for the time of the suite, if the cluster does not have it.
func letOperatorMakeKeys(ctx context.Context) {
	GinkgoHelper()
	text, err := os.ReadFile(mpiRights)
	Expect(err).NotTo(HaveOccurred(), "run the suite in test/api/e2e")
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		right := &unstructured.Unstructured{}
		if err := decoder.Decode(&right.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			Fail(err.Error())
		}
		if err := kube.Create(ctx, right); err != nil {
			Expect(apierrors.IsAlreadyExists(err)).To(BeTrue(), "%v", err)
			continue
		}
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(kube.Delete(ctx, right))).To(Succeed()) })
	}
}

// secrets returns the Secrets that the job owns.
func (j *submitted) secrets() []corev1.Secret {
	GinkgoHelper()
	var all corev1.SecretList
	Expect(kube.List(here.ctx, &all, client.InNamespace(here.namespace), client.MatchingLabels{v1alpha1.LabelJobName: j.name})).To(Succeed())
	return all.Items
}

var _ = Describe("An MPI job", func() {
	It("has a key that its pods find as files, that a restart leaves alone, and that goes with the job", func() {
		j := submit(job("m", v1alpha1.MPI, launcher(), workers(2)))
		v := j.runs(0, 0)
		keys := j.secrets()
		Expect(keys).To(HaveLen(1))
		Expect(keys[0].Name).To(Equal("m-" + string(v.job.UID)[:8] + "-ssh"))
		Expect(metav1.IsControlledBy(&keys[0], v.job)).To(BeTrue(), "owners %v", keys[0].OwnerReferences)
		Expect(keys[0].Data).To(HaveKey("ssh-privatekey"))
		for _, slot := range []string{"launcher-0", "worker-0", "worker-1"} {
			Expect(filesOf(v.pod(slot))).To(ContainElement(keys[0].Name), "the Secrets of %s", slot)
		}
		Expect(strings.Fields(v.pod("launcher-0").Annotations[v1alpha1.AnnotationHostFile])).To(
			Equal([]string{"m-worker-0.m", "slots=1", "m-worker-1.m", "slots=1"}))

		j.exits(137, "worker-1")
		j.runs(1, 1)
		Expect(j.secrets()).To(Equal(keys), "after a restart")
		j.exits(0, "launcher-0")
		j.succeeds()
		j.delete(metav1.DeletePropagationBackground)
		Eventually(j.secrets).Should(BeEmpty(), "when the job is gone")
	})
})

// filesOf returns the Secrets whose files the pod has.
func filesOf(pod *corev1.Pod) []string {
	var names []string
	for _, volume := range pod.Spec.Volumes {
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.Secret != nil {
				names = append(names, source.Secret.Name)
			}
		}
	}
	return names
}
