//go:build pipelines

package pipelines

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// pods returns the pods of the namespace, of steps and of jobs.
func pods(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	var list corev1.PodList
	Expect(kube.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	return list.Items
}

// replicas returns the UIDs of the pods of jobs, by name.
func replicas(ctx context.Context) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	for _, p := range pods(ctx) {
		if p.Labels[v1alpha1.LabelJobName] != "" {
			found[p.Name] = string(p.UID)
		}
	}
	return found
}

// jobs returns the TrainingJobs of the namespace.
func jobs(ctx context.Context) []v1alpha1.TrainingJob {
	GinkgoHelper()
	var list v1alpha1.TrainingJobList
	Expect(kube.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	return list.Items
}

// runningJob waits until the namespace has one job and it runs, and returns it.
func runningJob(ctx SpecContext) v1alpha1.TrainingJob {
	GinkgoHelper()
	var found []v1alpha1.TrainingJob
	Eventually(func() v1alpha1.Phase {
		if found = jobs(ctx); len(found) != 1 {
			return ""
		}
		return found[0].Status.Phase
	}).Should(Equal(v1alpha1.PhaseRunning))
	return found[0]
}
