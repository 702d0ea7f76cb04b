package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
)

var pods = schema.GroupResource{Resource: "pods"}

func TestErrorsThatOnlySomebodyElseCanMend(t *testing.T) {
	cases := []struct {
		name string
		err  error
		want string
	}{
		{"no error", nil, ""},
		{"a quota is used up", apierrors.NewForbidden(pods, "j", errors.New("exceeded quota: team-a, requested: pods=1")), v1alpha1.ReasonQuotaExceeded},
		{"pod security or RBAC forbids", apierrors.NewForbidden(pods, "j", errors.New("violates PodSecurity")), v1alpha1.ReasonForbidden},
		{"the pod is invalid", apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "j", nil), v1alpha1.ReasonInvalid},
		{"the request is bad", apierrors.NewBadRequest("strict decoding"), v1alpha1.ReasonInvalid},
		{"the pod is too large", apierrors.NewRequestEntityTooLargeError("limit is 3145728"), v1alpha1.ReasonInvalid},
		{"etcd finds the pod too large", apierrors.NewInternalError(errors.New("etcdserver: request is too large")), v1alpha1.ReasonInvalid},
		{"a webhook does not answer", apierrors.NewInternalError(errors.New(`failed calling webhook "x"`)), v1alpha1.ReasonAdmissionUnavailable},
		{"another owner has the name", &nameConflict{kind: "Pod", object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "j-worker-0"}}}, v1alpha1.ReasonNameConflict},
		{"a conflict will pass", apierrors.NewConflict(pods, "j", errors.New("the object has been modified")), ""},
		{"throttling will pass", apierrors.NewTooManyRequests("slow down", 1), ""},
		{"a time-out will pass", apierrors.NewServerTimeout(pods, "create", 1), ""},
		{"an internal error will pass", apierrors.NewInternalError(errors.New("leader changed")), ""},
		{"a broken connection will pass", errors.New("connection refused"), ""},
		{"a webhook denies the creation with 404", &notCreated{apierrors.NewNotFound(pods, "j")}, v1alpha1.ReasonForbidden},
		{"a webhook denies the creation with 409", &notCreated{apierrors.NewConflict(pods, "j", errors.New("no"))}, v1alpha1.ReasonForbidden},
		{"a webhook denies the creation with 429", &notCreated{apierrors.NewTooManyRequests("no", 1)}, ""},
		{"a webhook denies the creation with 503", &notCreated{apierrors.NewServiceUnavailable("no")}, ""},
		{"no answer to the creation", &notCreated{errors.New("connection refused")}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := c.err
			if err != nil {
				err = fmt.Errorf("creating a pod: %w", err)
			}
			if got := refusalReason(err); got != c.want {
				t.Errorf("reason %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheRefusalIsToldInTheServersOwnWords(t *testing.T) {
	err := fmt.Errorf("creating *v1.Pod j-worker-0: %w", apierrors.NewForbidden(pods, "j-worker-0", errors.New("exceeded quota: team-a")))
	if diff := cmp.Diff(`pods "j-worker-0" is forbidden: exceeded quota: team-a`, refusalMessage(err)); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	webhook := fmt.Errorf("creating: %w", apierrors.NewForbidden(pods, "j-worker-0", errors.New("image \x1b[2Jx\nis not allowed")))
	if diff := cmp.Diff(`pods "j-worker-0" is forbidden: image  [2Jx is not allowed`, refusalMessage(webhook)); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	conflict := &nameConflict{kind: "Service", object: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "j"}}}
	if diff := cmp.Diff("Service j exists and has another owner: delete it, or give the job another name", refusalMessage(conflict)); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

// A message names the children of an earlier job of the same name once, with a command that deletes all of them and nothing of
// the new job.
func TestAConflictWithWhatAnEarlierJobLeftNamesAllOfIt(t *testing.T) {
	job := builder.Job("j", builder.Workers(1))
	labels := func(name, uid string) client.Object {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "j", Labels: map[string]string{v1alpha1.LabelJobName: name, v1alpha1.LabelJobUID: uid}}}
	}
	left := newNameConflict(&corev1.Service{}, labels("j", "before"), job)
	want := "Service j was left behind by an earlier job of this name, which was deleted without its children: delete all of them with " +
		"kubectl delete pods,services,leases --namespace team --selector trainingjob.dev/job-uid=before"
	if diff := cmp.Diff(want, refusalMessage(left)); diff != "" || refusalReason(left) != v1alpha1.ReasonNameConflict {
		t.Errorf("reason %s, message (-want +got):\n%s", refusalReason(left), diff)
	}
	for name, other := range map[string]client.Object{"of another job": labels("k", "before"), "of no job": labels("", ""), "with this job's UID": labels("j", string(job.UID))} {
		if got := newNameConflict(&corev1.Service{}, other, job).Error(); got != "Service j exists and has another owner: delete it, or give the job another name" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// To delete a pod that another object controls harms that object.
func TestAConflictNamesWhatControlsTheObject(t *testing.T) {
	job := builder.Job("exp", builder.Workers(1), builder.Served())
	left := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "exp-worker-0", Labels: map[string]string{v1alpha1.LabelJobName: "exp", v1alpha1.LabelJobUID: "before"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "kubeflow.org/v1", Kind: "TFJob", Name: "exp", UID: "tf", Controller: ptr.To(true)}},
	}}
	if got, want := newNameConflict(&corev1.Pod{}, left, job).Error(), "Pod exp-worker-0 exists and belongs to TFJob exp: give the job another name"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	left.OwnerReferences[0] = job.OwnerReferences[0]
	if got := newNameConflict(&corev1.Pod{}, left, job).Error(); !strings.Contains(got, "left behind by an earlier job") {
		t.Errorf("got %q of the job's own Kubeflow job", got)
	}
}

// refusing returns a cluster without a server, and its record of a job.
func refusing() (*Cluster, *testclock.FakePassiveClock) {
	clock := testclock.NewFakePassiveClock(builder.Epoch)
	return New(nil, nil, nil, clock, Options{Parallel: 1}), clock
}

func TestARefusedJobTriesAtMostFifteenTimesInTenMinutes(t *testing.T) {
	c, clock := refusing()
	job := builder.Job("j", builder.Workers(1))
	refused := apierrors.NewForbidden(pods, "j", errors.New("no"))
	var waits []time.Duration
	tries := 0
	for clock.Since(builder.Epoch) <= 10*time.Minute {
		if tries++; c.handleRefusal(job, refused) != nil {
			t.Fatal("a refusal is returned as an error: it would be retried at once")
		}
		retry := c.memo(job, nil).refused.refusal.Retry
		waits = append(waits, retry.Sub(clock.Now())/time.Second)
		clock.SetTime(retry)
	}
	if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 64, 75, 75, 75, 75, 75, 75, 75}, waits); diff != "" || tries > 15 {
		t.Errorf("%d tries, seconds between them (-want +got):\n%s", tries, diff)
	}
	for range 100 {
		_ = c.handleRefusal(job, refused)
	}
	if wait := c.memo(job, nil).refused.refusal.Retry.Sub(clock.Now()); wait != retryAtMost {
		t.Errorf("after 100 refusals the wait is %v, want %v", wait, retryAtMost)
	}
}

// A webhook may answer with any code. A job tries again after 1 s, 2 s, 4 s, and shows the words if they do not change.
func TestARefusedCreationIsShownWithAnyCode(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		reason []string
	}{
		"404": {apierrors.NewNotFound(pods, "j-worker-0"), []string{v1alpha1.ReasonForbidden, v1alpha1.ReasonForbidden, v1alpha1.ReasonForbidden}},
		"409": {apierrors.NewConflict(pods, "j-worker-0", errors.New("no")), []string{v1alpha1.ReasonForbidden, v1alpha1.ReasonForbidden, v1alpha1.ReasonForbidden}},
		"429": {apierrors.NewTooManyRequests("no more pods today", 1), []string{"", "", v1alpha1.ReasonAdmissionUnavailable}},
		"503": {apierrors.NewServiceUnavailable("no more pods today"), []string{"", "", v1alpha1.ReasonAdmissionUnavailable}},
	} {
		server := &webhooks{answer: func(context.Context, client.Object) error { return c.err }}
		clock := testclock.NewFakePassiveClock(builder.Epoch)
		cl := New(server, nil, nil, clock, Options{Parallel: 1})
		job, steps := jobIn("a", 1)
		for n, want := range c.reason {
			if err := cl.Act(t.Context(), job, steps); err != nil {
				t.Fatalf("%s: error %v, so it is tried again at once", name, err)
			}
			is := cl.memo(job, nil).refused.refusal
			if is == nil || is.Reason != want || is.Message != refusalMessage(c.err) || is.Retry.Sub(clock.Now()) != time.Second<<n {
				t.Errorf("%s, try %d: the refusal is %+v, want reason %q", name, n+1, is, want)
			}
			clock.SetTime(clock.Now().Add(time.Second << n))
		}
	}
}

func TestASuccessEndsTheRefusalAndAPassingErrorDoesNot(t *testing.T) {
	c, clock := refusing()
	job := builder.Job("j", builder.Workers(1))
	_ = c.handleRefusal(job, apierrors.NewForbidden(pods, "j", errors.New("no")))
	passing := errors.New("connection refused")
	if err := c.handleRefusal(job, passing); !errors.Is(err, passing) || c.memo(job, nil).refused.refusal == nil {
		t.Errorf("a passing error gives %v and the refusal is %v", err, c.memo(job, nil).refused.refusal)
	}
	if err := c.handleRefusal(job, nil); err != nil || c.memo(job, nil).refused.refusal == nil {
		t.Errorf("a success before it is time to try again gives %v and ends the refusal", err)
	}
	clock.SetTime(c.memo(job, nil).refused.refusal.Retry)
	if err := c.handleRefusal(job, nil); err != nil || c.memo(job, nil).refused.refusal != nil || c.memo(job, nil).refused.times != 0 {
		t.Errorf("a success gives %v and the refusal is %v", err, c.memo(job, nil).refused.refusal)
	}
}

func TestNoStepsAreNoSuccess(t *testing.T) {
	c, _ := refusing()
	job := builder.Job("j", builder.Workers(1))
	_ = c.handleRefusal(job, apierrors.NewForbidden(pods, "j", errors.New("no")))
	if err := c.Act(context.Background(), job, nil); err != nil || c.memo(job, nil).refused.refusal == nil {
		t.Errorf("doing nothing gives %v and the refusal is %v", err, c.memo(job, nil).refused.refusal)
	}
}

// A reconcile may be under way when the job is deleted: the next one finds it gone.
func TestAJobThatIsGoneIsForgotten(t *testing.T) {
	c, _ := refusing()
	c.client = server.New(c.clock).Client("test")
	job := builder.Job("j", builder.Workers(1))
	_ = c.handleRefusal(job, apierrors.NewForbidden(pods, "j", errors.New("no")))
	if s, err := c.Observe(t.Context(), client.ObjectKeyFromObject(job)); s != nil || err != nil {
		t.Fatalf("observed %v, %v of a job that is gone", s, err)
	}
	if len(c.jobs) > 0 {
		t.Errorf("%d jobs are remembered", len(c.jobs))
	}
}

func TestToAskLeavesNoTrace(t *testing.T) {
	c, _ := refusing()
	job := builder.Job("j", builder.Workers(1))
	_, _ = c.memo(job, nil), c.Retry(job)
	if !c.showsOwnWrites(job, nil) || len(c.jobs) > 0 {
		t.Errorf("%d jobs are remembered", len(c.jobs))
	}
}

func TestAnotherJobOfTheNameBeginsWithNoNotes(t *testing.T) {
	c, _ := refusing()
	job := builder.Job("j", builder.Workers(1))
	_ = c.handleRefusal(job, apierrors.NewForbidden(pods, "j", errors.New("no")))
	again := job.DeepCopy()
	again.UID = "again"
	if known := c.memo(again, nil); known.refused.refusal != nil {
		t.Errorf("it is refused: %v", known.refused.refusal)
	}
	c.expectWrite(again, "pod", false)
	if known := c.memo(again, nil); len(c.jobs) != 1 || known.pendingWrites == nil {
		t.Errorf("%d jobs are remembered, %v", len(c.jobs), known.pendingWrites)
	}
}

// The cache may show a new job before the last pods of the old one, which may still run.
func TestAnotherJobOfTheNameWaitsForTheWritesOfTheFormerOne(t *testing.T) {
	c, _ := refusing()
	job := builder.Job("j", builder.Workers(1))
	c.expectWrite(job, "pod", false)
	again := job.DeepCopy()
	again.UID = "again"
	if c.showsOwnWrites(again, nil) {
		t.Error("a pod of the old job is not in the cache, and the new job does not wait for it")
	}
	former := corev1.Pod{}
	former.UID = "pod"
	if !c.showsOwnWrites(again, []corev1.Pod{former}) {
		t.Error("the pod of the former job is in the cache, and it is waited for")
	}
}

func TestWhoControlsAnObject(t *testing.T) {
	job := builder.Job("j", builder.Workers(1))
	yes := true
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"the job":                    {func(*corev1.Pod) {}, true},
		"none":                       {func(p *corev1.Pod) { p.OwnerReferences = nil }, false},
		"a former job of that name":  {func(p *corev1.Pod) { p.OwnerReferences[0].UID = "other" }, false},
		"another kind":               {func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "Job" }, false},
		"another group":              {func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "batch/v1" }, false},
		"an owner, not a controller": {func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }, false},
		"the job beside another owner": {func(p *corev1.Pod) {
			p.OwnerReferences = append(p.OwnerReferences, p.OwnerReferences[0])
			p.OwnerReferences[1].Controller, p.OwnerReferences[1].UID = nil, "other"
		}, true},
	} {
		pod := controlled(job)
		pod.OwnerReferences[0].Controller = &yes
		c.change(pod)
		if got := state.IsOwnedBy(pod, job); got != c.want {
			t.Errorf("controlled by %s: %t, want %t", name, got, c.want)
		}
	}
}

func TestWithoutTheRightToDeleteJobsAnExpiredOneNamesTheComponent(t *testing.T) {
	denied := apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("trainingjobs").GroupResource(), "j",
		errors.New(`User "operator" cannot delete resource "trainingjobs"`))
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"the right is missing": {denied, true},
		"a policy forbids it":  {apierrors.NewForbidden(schema.GroupResource{}, "j", errors.New("denied by a policy")), false},
	} {
		if got := strings.Contains(refusalMessage(orMissingRight(adviceOnTTL, c.err)), "apply manifests/components/ttl"); got != c.want {
			t.Errorf("%s: the message names the component: %v", name, got)
		}
	}
}
