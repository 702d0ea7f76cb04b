//go:build e2e

package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A play makes a row of requests, of the real API server or of the one in memory. Each answer becomes a line, and the two servers must
// give the same lines.
type play struct {
	t         *testing.T
	client    client.Client
	namespace string
	uids      []types.UID
	lines     []string
	at        int64 // the resourceVersion seen last
}

// answer notes what the server said, and how the object is afterwards.
func (p *play) answer(what string, err error, o client.Object) {
	line := what + ": " + status(err)
	if o != nil {
		line += ", then " + p.describe(o)
	}
	p.lines = append(p.lines, line)
}

func status(err error) string {
	if err == nil {
		return "ok"
	}
	var code int32
	if s, isStatus := err.(apierrors.APIStatus); isStatus {
		code = s.Status().Code
	}
	return fmt.Sprintf("%d %s", code, apierrors.ReasonForError(err))
}

// describe reads the object and returns its metadata: UIDs as numbers in the order of their appearance, and whether the
// resourceVersion has grown since the last look.
func (p *play) describe(o client.Object) string {
	if err := p.client.Get(p.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		return status(err)
	}
	uid := slices.Index(p.uids, o.GetUID())
	if uid < 0 {
		uid = len(p.uids)
		p.uids = append(p.uids, o.GetUID())
	}
	var version int64
	_, _ = fmt.Sscan(o.GetResourceVersion(), &version) // the API server writes numbers
	text := fmt.Sprintf("UID %d, generation %d, written %t, labels %v, finalizers %v", uid, o.GetGeneration(), version != p.at, o.GetLabels(), o.GetFinalizers())
	p.at = version
	if d := o.GetDeletionTimestamp(); d != nil {
		grace := ptr.Deref(o.GetDeletionGracePeriodSeconds(), -1)
		text += fmt.Sprintf(", deletion grace %d, within it %t", grace, time.Until(d.Time) <= time.Duration(grace+1)*time.Second)
	}
	switch o := o.(type) {
	case *corev1.Pod:
		text += fmt.Sprintf(", %s, own grace %d", o.Status.Phase, ptr.Deref(o.Spec.TerminationGracePeriodSeconds, -1))
	case *v1alpha1.TrainingJob:
		text += fmt.Sprintf(", suspend %t, attempt %d, %d owners", o.Spec.IsSuspended(), o.Status.Attempt, len(o.OwnerReferences))
	}
	return text
}

func (p *play) do(what string, o client.Object, err error) { p.answer(what, err, o) }

// aPod returns a pod that is bound to a node of no kubelet, so that nobody ends it but the test.
func (p *play) aPod(node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "p"}, Spec: corev1.PodSpec{
		NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "train"}}, SchedulerName: "nobody"}}
}

func (p *play) aJob() *v1alpha1.TrainingJob {
	job := builder.Job("j", builder.Workers(2))
	job.Namespace, job.UID, job.Generation, job.CreationTimestamp = p.namespace, "", 0, metav1.Time{}
	job.Spec.ManagedBy = nobody
	return job
}

// plays are the requests whose answers are compared.
var plays = map[string]func(p *play){
	"a pod without a node goes at once": func(p *play) {
		pod := p.aPod("")
		p.do("create", pod, p.client.Create(p.t.Context(), pod))
		p.do("create again", pod, p.client.Create(p.t.Context(), p.aPod("")))
		p.do("create with a version", pod, p.client.Create(p.t.Context(), pod.DeepCopy()))
		p.do("delete another UID", pod, p.client.Delete(p.t.Context(), pod, client.Preconditions{UID: ptr.To[types.UID]("other")}))
		p.do("delete another version", pod, p.client.Delete(p.t.Context(), pod, client.Preconditions{ResourceVersion: ptr.To("1")}))
		p.do("delete", pod, p.client.Delete(p.t.Context(), pod, client.Preconditions{UID: &pod.UID}))
		p.do("delete again", pod, p.client.Delete(p.t.Context(), pod))
	},
	"a pod on a node ends gracefully": func(p *play) {
		pod := p.aPod("no-such-node")
		ctx := p.t.Context()
		p.do("create", pod, p.client.Create(ctx, pod))
		p.do("delete", pod, p.client.Delete(ctx, pod))
		p.do("delete again", pod, p.client.Delete(ctx, pod))
		p.do("delete with a longer grace", pod, p.client.Delete(ctx, pod, client.GracePeriodSeconds(60)))
		p.do("delete with a shorter grace", pod, p.client.Delete(ctx, pod, client.GracePeriodSeconds(7)))
		p.do("delete with a longer grace than that", pod, p.client.Delete(ctx, pod, client.GracePeriodSeconds(20)))
		p.do("delete by force", pod, p.client.Delete(ctx, pod, client.GracePeriodSeconds(0)))
	},
	"a finished pod goes at once": func(p *play) {
		pod := p.aPod("no-such-node")
		ctx := p.t.Context()
		p.do("create", pod, p.client.Create(ctx, pod))
		pod.Status.Phase = corev1.PodFailed
		p.do("fail", pod, p.client.Status().Update(ctx, pod))
		p.do("delete", pod, p.client.Delete(ctx, pod))
	},
	"a finalizer holds a pod back": func(p *play) {
		pod := p.aPod("no-such-node")
		ctx := p.t.Context()
		pod.Finalizers = []string{"example.com/hold"}
		p.do("create", pod, p.client.Create(ctx, pod))
		p.do("delete", pod, p.client.Delete(ctx, pod, client.GracePeriodSeconds(5)))
		p.do("delete by force", pod, p.client.Delete(ctx, pod, client.GracePeriodSeconds(0)))
		pod.Finalizers = nil
		p.do("let go", pod, p.client.Update(ctx, pod))
	},
	"labels of a pod by merge patch": func(p *play) {
		pod := p.aPod("no-such-node")
		ctx := p.t.Context()
		pod.Labels = map[string]string{"a": "1", "b": "2"}
		p.do("create", pod, p.client.Create(ctx, pod))
		patch := func(what, text string) {
			p.do(what, pod, p.client.Patch(ctx, pod.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text))))
		}
		patch("take b away", `{"metadata":{"labels":{"b":null}}}`)
		patch("take b away again", `{"metadata":{"labels":{"b":null}}}`)
		patch("with the UID", `{"metadata":{"uid":"`+string(pod.UID)+`","labels":{"c":"3"}}}`)
		patch("with another UID", `{"metadata":{"uid":"other","labels":{"d":"4"}}}`)
		patch("with another version", `{"metadata":{"resourceVersion":"1","labels":{"d":"4"}}}`)
		patch("with a status", `{"metadata":{"labels":{"e":"5"}},"status":{"phase":"Failed"}}`)
		pod.Name = "none"
		patch("of no pod", `{"metadata":{"labels":{"b":null}}}`)
		pod.Name = "p"
		p.do("delete by force", pod, p.client.Delete(ctx, pod, client.GracePeriodSeconds(0)))
	},
	"spec and status of a job are two": func(p *play) {
		job, ctx := p.aJob(), p.t.Context()
		job.Status.Attempt = 7
		p.do("create", job, p.client.Create(ctx, job))
		old := job.DeepCopy()
		job.Spec.Suspend, job.Status.Attempt = ptr.To(true), 8
		p.do("update the spec", job, p.client.Update(ctx, job))
		job.Spec.Suspend, job.Status.Attempt = ptr.To(false), 1
		p.do("update the status", job, p.client.Status().Update(ctx, job))
		p.do("update nothing", job, p.client.Update(ctx, job))
		p.do("update the status to what it is", job, p.client.Status().Update(ctx, job))
		old.Status.Attempt = 2
		p.do("update the status of an old version", job, p.client.Status().Update(ctx, old))
		p.do("update an old version", job, p.client.Update(ctx, old))
		none := job.DeepCopy()
		none.ResourceVersion, none.Status.Attempt = "", 3
		p.do("update the status of no version", job, p.client.Status().Update(ctx, none))
		p.do("patch the status of no version", job, p.client.Status().Patch(ctx, none, client.RawPatch(types.MergePatchType, []byte(`{"status":{"attempt":4}}`))))
		other := job.DeepCopy()
		other.UID, other.Status.Attempt = "other", 5
		p.do("update the status of another UID", job, p.client.Status().Update(ctx, other))
		job.Labels = map[string]string{"a": "1"}
		p.do("update a label", job, p.client.Update(ctx, job))
		p.do("delete", job, p.client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
		p.do("update the status of no job", job, p.client.Status().Update(ctx, old))
	},
	"a job with a finalizer waits": func(p *play) {
		job, ctx := p.aJob(), p.t.Context()
		job.Finalizers = []string{"example.com/hold"}
		p.do("create", job, p.client.Create(ctx, job))
		p.do("delete", job, p.client.Delete(ctx, job))
		p.do("delete again", job, p.client.Delete(ctx, job))
		job.Status.Attempt = 1
		p.do("update the status", job, p.client.Status().Update(ctx, job))
		job.Finalizers = nil
		p.do("let go", job, p.client.Update(ctx, job))
	},
	"a Service goes at once": func(p *play) {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "s"}, Spec: corev1.ServiceSpec{ClusterIP: "None"}}
		ctx := p.t.Context()
		p.do("create", service, p.client.Create(ctx, service))
		p.do("create again", service, p.client.Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "s"}, Spec: corev1.ServiceSpec{ClusterIP: "None"}}))
		p.do("delete", service, p.client.Delete(ctx, service, client.Preconditions{UID: &service.UID}))
	},
}

// TestMemoryServerAnswersAsTheRealOne holds the API server of the simulator against the real one.
func TestMemoryServerAnswersAsTheRealOne(t *testing.T) {
	answers := 0
	for name, run := range plays {
		t.Run(name, func(t *testing.T) {
			memory := &play{t: t, namespace: "memory", client: server.New(clock.RealClock{}).Client("api-test")}
			run(memory)
			real := &play{t: t, namespace: namespace(t, nil), client: admin}
			run(real)
			if diff := cmp.Diff(real.lines, memory.lines); diff != "" {
				t.Errorf("answers (-real +memory):\n%s", diff)
			}
			t.Log(strings.Join(real.lines, "\n"))
			answers += len(real.lines)
		})
	}
	t.Logf("%d answers compared", answers)
}
