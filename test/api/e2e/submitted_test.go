//go:build e2e

package e2e

import (
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// submitted is a job that the API server has.
type submitted struct {
	name string
	// generation is that of the last change made through this handle: older statuses answer nothing.
	generation int64
}

// submit creates the job.
func submit(job *v1alpha1.TrainingJob) *submitted {
	GinkgoHelper()
	Expect(kube.Create(here.ctx, job)).To(Succeed())
	return &submitted{name: job.Name, generation: job.Generation}
}

func (j *submitted) key() client.ObjectKey {
	return client.ObjectKey{Namespace: here.namespace, Name: j.name}
}

// look returns what can be seen of the job now.
func (j *submitted) look() *view {
	GinkgoHelper()
	v := &view{job: &v1alpha1.TrainingJob{}}
	if err := kube.Get(here.ctx, j.key(), v.job); apierrors.IsNotFound(err) {
		v.job = nil
	} else {
		Expect(err).NotTo(HaveOccurred())
	}
	var pods corev1.PodList
	Expect(kube.List(here.ctx, &pods, client.InNamespace(here.namespace))).To(Succeed())
	for i := range pods.Items {
		if _, ours := ledger.LifeOf(j.name, pods.Items[i].Name); ours {
			v.pods = append(v.pods, pods.Items[i])
		}
	}
	return v
}

// pod returns the pod of the slot's latest life.
func (j *submitted) pod(slot string) *corev1.Pod {
	GinkgoHelper()
	v := j.look()
	pod := v.pod(slot)
	Expect(pod).NotTo(BeNil(), "there is no pod of %s\n%s", slot, v)
	return pod
}

// change changes the job's spec, whatever else is written at the same time.
func (j *submitted) change(how func(*v1alpha1.TrainingJob)) {
	GinkgoHelper()
	Eventually(func() error {
		job := j.look().job
		how(job)
		err := kube.Update(here.ctx, job)
		j.generation = max(j.generation, job.Generation)
		return err
	}).Should(Succeed())
}

// isDeleted waits until the job is gone, as its time to live says.
func (j *submitted) isDeleted() {
	GinkgoHelper()
	Eventually(func() bool { return j.look().job == nil }).Should(BeTrue(), "%s is deleted", j.name)
}

func (j *submitted) suspend() { GinkgoHelper(); j.change(suspended) }

func (j *submitted) resume() {
	GinkgoHelper()
	j.change(func(job *v1alpha1.TrainingJob) { job.Spec.Suspend = ptr.To(false) })
}

// tj runs kubectl tj, the program itself, on the job.
func (j *submitted) tj(verb string, args ...string) {
	GinkgoHelper()
	program := cmp.Or(os.Getenv("KUBECTL_TJ"), filepath.Join("..", "..", "..", "bin", "kubectl-tj"))
	printed, err := exec.CommandContext(here.ctx, program, append([]string{verb, j.name, "-n", here.namespace}, args...)...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "kubectl tj %s prints %q; without the program, run make kubectl-tj", verb, printed)
}

// scale does what kubectl scale does.
func (j *submitted) scale(to int32) {
	GinkgoHelper()
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: here.namespace, Name: j.name}}
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: to}}
	Expect(kube.SubResource("scale").Update(here.ctx, job, client.WithSubResourceBody(scale))).To(Succeed())
	j.generation = j.look().job.Generation
}

// delete deletes the job as kubectl delete --cascade does.
func (j *submitted) delete(cascade metav1.DeletionPropagation) {
	GinkgoHelper()
	Expect(kube.Delete(here.ctx, j.look().job, client.PropagationPolicy(cascade))).To(Succeed())
}

// exits makes the latest pods of the slots exit with the code, all at once.
func (j *submitted) exits(code int, slots ...string) {
	GinkgoHelper()
	j.does(testbed.Annotations{"exit-code": strconv.Itoa(code)}, slots...)
}

// endsBehindGates makes the ranks of the slots, all at once, exit once their pods are kept for that.
func (j *submitted) endsBehindGates(slots ...string) {
	GinkgoHelper()
	j.becomes("the gates of its pods are closed", func(v *view) bool {
		return !slices.ContainsFunc(v.pods, func(p corev1.Pod) bool { return p.Annotations[v1alpha1.AnnotationStartGate] != v1alpha1.GateClosed })
	})
	j.exits(1, slots...)
}

// does makes fake nodes treat the latest pods of the slots so from now on; nil takes an annotation away.
func (j *submitted) does(what testbed.Annotations, slots ...string) {
	GinkgoHelper()
	var pods []*corev1.Pod
	for _, slot := range slots {
		pods = append(pods, j.pod(slot))
	}
	var requests sync.WaitGroup
	for _, pod := range pods {
		requests.Go(func() {
			defer GinkgoRecover()
			err := testbed.Tell(here.ctx, kube, pod, what)
			if len(pods) > 1 { // what the first has done may have ended the others already
				err = client.IgnoreNotFound(err)
			}
			Expect(err).NotTo(HaveOccurred())
		})
	}
	requests.Wait()
}

// events returns the messages of the job's Events of that reason; one that was repeated as often as it was told.
func (j *submitted) events(reason string) []string {
	GinkgoHelper()
	var events corev1.EventList
	Expect(kube.List(here.ctx, &events, client.InNamespace(here.namespace), client.MatchingFields{"involvedObject.name": j.name})).To(Succeed())
	var messages []string
	for i := range events.Items {
		if e := &events.Items[i]; e.Reason == reason && e.InvolvedObject.Kind == v1alpha1.Kind {
			messages = append(messages, slices.Repeat([]string{e.Message}, timesTold(e))...)
		}
	}
	return messages
}

// timesTold returns how often the Event was told: one that repeats is written once, with a count.
func timesTold(e *corev1.Event) int {
	if e.Series == nil {
		return 1
	}
	return int(e.Series.Count)
}

// isSame reports whether none of the pods of before is another one now.
func isSame(before map[string]string, v *view) bool { return maps.Equal(before, v.uids()) }
