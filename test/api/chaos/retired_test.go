//go:build chaos

package chaos

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// retired are jobs with fields and annotations that this version no longer has. NODE is a node with room for two of the elastic job's workers.
const retired = `
apiVersion: trainingjob.dev/v1alpha1
kind: TrainingJob
metadata:
  name: lease
  annotations: {trainingjob.dev/step: "5", trainingjob.dev/attempt: "0", trainingjob.dev/saved-for: "0-1"}
spec:
  framework: PyTorch
  progress: {stallAfterSeconds: 3600, checkpointGraceSeconds: 60, action: Restart}
  replicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: pytorch, image: busybox}]}}
---
apiVersion: trainingjob.dev/v1alpha1
kind: TrainingJob
metadata: {name: parked}
spec:
  framework: PyTorch
  elastic: {minReplicas: 1, maxReplicas: 3, shrinkAfterSeconds: 1, growAfterSeconds: 3600, rendezvous: {endpoint: "store:2379"}}
  replicaSpecs:
    Worker:
      replicas: 3
      template:
        spec:
          nodeSelector: {kubernetes.io/hostname: NODE}
          containers: [{name: pytorch, image: busybox, resources: {limits: {nvidia.com/gpu: 4}}}]
`

// memory is what a change of versions must keep of a job: its counters, and the pods that run.
type memory struct {
	Attempt, Restarts, ChargedRestarts int32
	Running                            map[string]types.UID
}

func memoryOf(j *v1alpha1.TrainingJob) memory {
	GinkgoHelper()
	s := read(j).Status
	m := memory{s.Attempt, s.Restarts, s.ChargedRestarts, map[string]types.UID{}}
	for _, pod := range replicasOf(j) {
		if runs(&pod) {
			m.Running[pod.Name] = pod.UID
		}
	}
	return m
}

// replicasOf returns the pods of the job's replicas.
func replicasOf(j *v1alpha1.TrainingJob) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(kube.List(context.Background(), &pods, client.InNamespace(j.Namespace), client.MatchingLabels{v1alpha1.LabelJobName: j.Name})).To(Succeed())
	return pods.Items
}

// status returns a field of the job's status that only the former version has.
func status(j *v1alpha1.TrainingJob, fields ...string) any {
	GinkgoHelper()
	var is unstructured.Unstructured
	is.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	Expect(kube.Get(context.Background(), client.ObjectKeyFromObject(j), &is)).To(Succeed())
	value, _, err := unstructured.NestedFieldNoCopy(is.Object, append([]string{"status"}, fields...)...)
	Expect(err).NotTo(HaveOccurred())
	return value
}

// submitRetired applies the retired jobs with kubectl, and waits until the former operator does what they ask.
func submitRetired(p *place) map[string]*v1alpha1.TrainingJob {
	GinkgoHelper()
	ctx := context.Background()
	var nodes corev1.NodeList
	Expect(kube.List(ctx, &nodes)).To(Succeed())
	file := filepath.Join(GinkgoT().TempDir(), "retired.yaml")
	Expect(os.WriteFile(file, []byte(strings.ReplaceAll(retired, "NODE", nodes.Items[0].Name)), 0o644)).To(Succeed())
	kubectl := func(args ...string) {
		GinkgoHelper()
		_, err := lab.Kubectl(ctx, append([]string{"-n", p.namespace}, args...)...)
		Expect(err).NotTo(HaveOccurred())
	}
	kubectl("apply", "-f", file)
	jobs := map[string]*v1alpha1.TrainingJob{}
	for _, name := range []string{"lease", "parked"} {
		j := &v1alpha1.TrainingJob{}
		j.Namespace, j.Name = p.namespace, name
		jobs[name] = j
	}
	for name, j := range jobs {
		Eventually(func() int { return len(memoryOf(j).Running) }).Should(Equal(2), "the workers of %s run", name)
	}
	Eventually(func() any { return status(jobs["parked"], "replicaStatuses", "Worker", "parked") }).Should(BeEquivalentTo(1), "a worker is parked")
	Eventually(func() v1alpha1.Phase { return read(jobs["lease"]).Status.Phase }).Should(Equal(v1alpha1.PhaseRunning))
	const report = `{"metadata": {"annotations": {"trainingjob.dev/attempt": "0", "trainingjob.dev/step": "7"}}, "spec": {"renewTime": "NOW"}}`
	kubectl("patch", "lease", "lease-progress", "--type=merge", "-p", strings.Replace(report, "NOW", time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), 1))
	Eventually(func() any { return status(jobs["lease"], "progress", "step") }).Should(BeEquivalentTo(7), "the report by the Lease")
	return jobs
}

var _ = Describe("An upgrade over the end of features", Label("upgrade", "full"), func() {
	It("and the way back keep the pods and the counters of jobs that have a progress Lease, parked workers or old annotations", func() {
		older, newer := versions()
		if text, err := os.ReadFile(older.crd); err != nil || !strings.Contains(string(text), "shrinkAfterSeconds:") {
			Skip("the version before has none of these features")
		}
		p := newPlace()
		p.excused = isOfNames
		older.install()
		o := older.start()
		DeferCleanup(func() { o.Kill(); newer.install() })
		jobs := submitRetired(p)
		before := map[string]memory{}
		for name, j := range jobs {
			before[name] = memoryOf(j)
		}
		change := func(to version) {
			GinkgoHelper()
			o.Kill()
			o = to.start()
			Consistently(func(g Gomega) {
				for name, j := range jobs {
					g.Expect(memoryOf(j)).To(Equal(before[name]), "%s under the operator of %s", name, to.name)
				}
			}).WithTimeout(10 * time.Second).Should(Succeed())
		}
		newer.install()
		change(newer)
		Eventually(func() []corev1.Pod { return replicasOf(jobs["parked"]) }).Should(HaveLen(3), "the parked worker has a pod")
		Expect(read(jobs["parked"]).Status.Phase).To(Equal(v1alpha1.PhaseRunning), "the others run while it waits for a node")
		change(older)
		older.install()
		change(older)
		newer.install()
		change(newer)
		goOn(map[v1alpha1.Phase]*v1alpha1.TrainingJob{v1alpha1.PhaseRunning: jobs["lease"]})
		Expect(p.broken()).To(BeEmpty(), "invariants that were broken")
	})
})
