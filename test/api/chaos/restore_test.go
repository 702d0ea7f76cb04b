//go:build chaos

package chaos

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/sim/builder"
)

var _ = Describe("A restore from a backup", func() {
	It("goes on behind its checkpoints after the CRD was gone: no restart takes a step back", func() {
		p := newPlace()
		o := startOperator(p.namespace)
		DeferCleanup(func() { o.Kill() })
		j := job("restored", v1alpha1.PyTorch, builder.Workers(2), builder.BackOff(0, 60))
		j.Namespace = p.namespace
		Expect(kube.Create(context.Background(), j)).To(Succeed())
		stored := &checkpoints{job: j}
		stored.trainIn(0)
		for attempt := range 2 {
			breakWorker(j)
			stored.trainIn(attempt + 1)
		}

		backup := kubectl("get", "trainingjobs", "--namespace", p.namespace, "-o", "json")
		o.Kill()
		kubectl("delete", "crd", "trainingjobs.trainingjob.dev")
		Eventually(func() []corev1.Pod { return podsOf(j) }).Should(BeEmpty(), "the pods of a job that is gone")
		kubectl("apply", "-k", "../../../manifests/crd")
		Eventually(func() error { return kube.List(context.Background(), &v1alpha1.TrainingJobList{}) }).Should(Succeed(), "the CRD is served again")
		o = startOperator(p.namespace)

		restored := lab.File("restore.json")
		Expect(os.WriteFile(restored, asDocumented(backup), 0o600)).To(Succeed())
		kubectl("create", "--namespace", p.namespace, "-f", restored)
		stored.trainIn(3)
		breakWorker(j)
		stored.trainIn(4)
		say("the checkpoints, in the order in which they were saved: %s", strings.Join(stored.names, ", "))
	})
})

// checkpoints are what a training saves that follows docs/survive.md: the attempt comes first in the name, and the greatest name is loaded.
type checkpoints struct {
	job   *v1alpha1.TrainingJob
	names []string
}

// trainIn waits until the job runs in that attempt, loads what its program would load then, and saves 1,000 steps later.
func (c *checkpoints) trainIn(attempt int) {
	GinkgoHelper()
	Eventually(func() string {
		s := read(c.job).Status
		return fmt.Sprintf("%s in attempt %d", s.Phase, s.Attempt)
	}).Should(Equal(fmt.Sprintf("Running in attempt %d", attempt)))
	own := podsOf(c.job)[0].Spec.Containers[0].Env
	i := slices.IndexFunc(own, func(v corev1.EnvVar) bool { return v.Name == v1alpha1.EnvAttempt })
	Expect(i).To(BeNumerically(">=", 0), "the pod has no %s", v1alpha1.EnvAttempt)
	Expect(own[i].Value).To(Equal(fmt.Sprint(attempt)))
	step := 0
	if len(c.names) > 0 {
		_, err := fmt.Sscanf(slices.Max(c.names)[7:], "%d", &step)
		Expect(err).NotTo(HaveOccurred())
		Expect(slices.Max(c.names)).To(Equal(c.names[len(c.names)-1]), "attempt %d does not load what was saved last, of %v", attempt, c.names)
	}
	c.names = append(c.names, fmt.Sprintf("%06d-%09d.pt", attempt, step+1000))
}

// breakWorker lets a pod of the job exit with an error.
func breakWorker(j *v1alpha1.TrainingJob) {
	GinkgoHelper()
	pod := podsOf(j)[0]
	Expect(testbed.Tell(context.Background(), kube, &pod, testbed.Annotations{"exit-code": "137"})).To(Succeed())
}

// podsOf returns the pods of the job that have not ended and are not being deleted.
func podsOf(j *v1alpha1.TrainingJob) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(kube.List(context.Background(), &pods, client.InNamespace(j.Namespace), client.MatchingLabels{v1alpha1.LabelJobName: j.Name})).To(Succeed())
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !p.DeletionTimestamp.IsZero() || !runs(&p) })
}

// asDocumented makes of a backup what docs/install.md makes of it, by the line that stands there.
func asDocumented(backup string) []byte {
	GinkgoHelper()
	page, err := os.ReadFile("../../../docs/install.md")
	Expect(err).NotTo(HaveOccurred())
	program := regexp.MustCompile(`(?s)\$ jq '([^']*)' jobs\.json`).FindSubmatch(page)
	Expect(program).NotTo(BeNil(), "docs/install.md has no line with jq")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	jq := exec.CommandContext(ctx, "jq", string(program[1]))
	jq.Stdin, jq.Stderr = strings.NewReader(backup), GinkgoWriter
	var out bytes.Buffer
	jq.Stdout = &out
	Expect(jq.Run()).To(Succeed(), "jq")
	return out.Bytes()
}

func kubectl(args ...string) string {
	GinkgoHelper()
	told, err := lab.Kubectl(context.Background(), args...)
	Expect(err).NotTo(HaveOccurred())
	return told
}
