//go:build multikueue

package multikueue

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Kueue has its own adapter for PyTorchJobs. The operator of the worker cluster serves the copy.
var _ = Describe("A PyTorchJob that MultiKueue runs", func() {
	It("runs in the cluster that admits it, served by the operator there", func(ctx SpecContext) {
		worker1.offers(ctx, 0, "None")
		worker2.offers(ctx, 8, "None")
		pod := fields{"spec": fields{"containers": []any{fields{"name": "pytorch", "image": "train", "resources": fields{"limits": fields{gpu: "1"}}}}}}
		pytorch := &unstructured.Unstructured{Object: fields{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": fields{
			"runPolicy": fields{"suspend": true, "managedBy": v1alpha1.MultiKueue},
			"pytorchReplicaSpecs": fields{
				"Master": fields{"replicas": int64(1), "restartPolicy": "OnFailure", "template": pod},
				"Worker": fields{"replicas": int64(1), "restartPolicy": "OnFailure", "template": pod},
			},
		}}}
		pytorch.SetNamespace(metav1.NamespaceDefault)
		pytorch.SetName("served")
		pytorch.SetLabels(map[string]string{v1alpha1.LabelQueue: queueName})
		Expect(manager.Create(ctx, pytorch)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(client.IgnoreNotFound(manager.Delete(ctx, pytorch))).To(Succeed())
			job("served").isGoneFrom(ctx, worker2)
		})

		is := func(condition string) {
			GinkgoHelper()
			Eventually(ctx, func(ctx context.Context) []any {
				Expect(manager.Get(ctx, client.ObjectKeyFromObject(pytorch), pytorch)).To(Succeed())
				conditions, _, _ := unstructured.NestedSlice(pytorch.Object, "status", "conditions")
				return conditions
			}).Should(ContainElement(And(HaveKeyWithValue("type", condition), HaveKeyWithValue("status", "True"))))
		}
		is("Running")
		j := job("served")
		Expect(j.pods(ctx, worker2)).To(HaveLen(2))
		Expect(j.pods(ctx, manager)).To(BeEmpty())
		Expect(j.in(ctx, worker2)).NotTo(BeNil(), "the TrainingJob that serves it")
		j.exits(ctx, worker2, "0")
		is("Succeeded")
	})
})
