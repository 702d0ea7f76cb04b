package ledger_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// TestLedger shows that the ledger notices: each history breaks one sentence, and the first breaks none.
func TestLedger(t *testing.T) {
	running := func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }
	failed := func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }
	restarted := func(s *v1alpha1.TrainingJobStatus) { s.Attempt, s.Restarts = 1, 1 }
	for name, c := range map[string]struct {
		history []ledger.Observation
		want    string
	}{
		"a restart after the failed pod's end": {tale(version(), pod("p-worker-0", running), pod("p-worker-0", failed), version(restarted), pod("p-worker-0-a1r0")), ""},
		"an attempt beside the former":         {tale(version(), pod("p-worker-0", running), version(restarted), pod("p-worker-1-a1r0")), "3 fence"},
		"two pods of a slot":                   {tale(version(), pod("p-worker-0", running), version(restarted), pod("p-worker-0-a1r0")), "2 uniqueness"},
		"an attempt beside a former pod that is out of the Service": {tale(version(), pod("p-worker-0", running), pod("p-worker-0", running, fenced),
			version(restarted), pod("p-worker-1-a1r0"), pod("p-worker-0-a1r0")), ""},
		"a charge given back with an explanation": {tale(version(charged), version(charged, explained)), ""},
		"a charge that is dropped":                {tale(version(charged), version(restarted)), "9 monotone"},
		"a pod of a slot beyond the replicas":     {tale(version(), pod("p-worker-9")), "5 bounds"},
		"a name that no job gives":                {tale(version(), pod("p-worker-x")), "1 identity"},
		"a pod before its attempt is counted":     {tale(version(), pod("p-worker-0-a1r0")), "8 exactly once"},
		"a count that falls":                      {tale(version(restarted), version()), "9 monotone"},
		"a pod after the end":                     {tale(version(), version(finished), pod("p-worker-0")), "4 no work without cause"},
		"a verdict withdrawn":                     {tale(version(finished), version()), "10 final"},
		"a phase that is not what holds":          {tale(version(func(s *v1alpha1.TrainingJobStatus) { s.Phase = v1alpha1.PhaseRunning })), "11 phase"},
		"a job that runs again as soon as its suspension ends": {tale(version(in(v1alpha1.PhaseSuspended, v1alpha1.ConditionSuspended)),
			version(in(v1alpha1.PhaseRunning, v1alpha1.ConditionRunning))), ""},
		"a step that no job takes":                  {tale(version(in(v1alpha1.PhaseRunning, v1alpha1.ConditionRunning)), version(in(v1alpha1.PhaseCreated, ""))), "11 phase"},
		"a pod before nextStartTime":                {tale(version(later), pod("p-worker-0")), "14 back-off"},
		"a pod before its own next start":           {tale(version(laterAlone), pod("p-worker-0")), "14 back-off"},
		"a pod that another's next start holds not": {tale(version(laterAlone), pod("p-worker-1")), ""},
		"another host name in the next life": {tale(version(), pod("p-worker-0", failed), version(restarted),
			pod("p-worker-0-a1r0", func(p *corev1.Pod) { p.Spec.Hostname = "other" })), "15 rendezvous"},
		"a life that begins anew as its pod never ran": {tale(version(), pod("p-worker-0", failed, deleted, unknown), gone("p-worker-0"), pod("p-worker-0", another)), ""},
		"a life that ran and begins anew":              {tale(version(), pod("p-worker-0", failed, deleted), pod("p-worker-0", running), gone("p-worker-0"), pod("p-worker-0", another)), "5 bounds"},
		"a name of its own for a rank that needs none": {tale(version(), pod("p-worker-0"), pod("p-worker-1", func(p *corev1.Pod) { p.Labels[v1alpha1.LabelNamed] = "true" })), "15 rendezvous"},
		"a leader that cannot be found":                {tale(version(), pod("p-worker-0", func(p *corev1.Pod) { delete(p.Labels, v1alpha1.LabelNamed) })), "15 rendezvous"},
		"two ranks alike":                              {tale(version(), pod("p-worker-0"), pod("p-worker-1", func(p *corev1.Pod) { p.Labels[v1alpha1.LabelRank] = "0" })), "15 rendezvous"},
		"another world in one attempt":                 {tale(version(), pod("p-worker-0", world("2")), pod("p-worker-1", world("3"))), "15 rendezvous"},
	} {
		t.Run(name, func(t *testing.T) {
			broken := strings.Join(ledger.Violations(c.history), "\n")
			if (c.want == "" && broken != "") || !strings.Contains(broken, c.want) {
				t.Errorf("want %q broken, found:\n%s", c.want, broken)
			}
		})
	}
}

// in puts a job into the phase, with the one condition that says so.
func in(phase v1alpha1.Phase, condition string) func(*v1alpha1.TrainingJobStatus) {
	return func(s *v1alpha1.TrainingJobStatus) {
		if s.Phase = phase; condition != "" {
			meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue})
		}
	}
}

func deleted(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: morning.Time} }

// unknown is how a kubelet ends the container of a pod that was deleted before it ran.
func unknown(p *corev1.Pod) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 137, Reason: "ContainerStatusUnknown",
	}}}}
}

// another makes the pod another one of the same name.
func another(p *corev1.Pod) { p.UID += "-again" }

func gone(name string) ledger.Observation {
	o := pod(name)
	o.Event = watch.Deleted
	return o
}

func fenced(p *corev1.Pod) { delete(p.Labels, v1alpha1.LabelJobName) }

func charged(s *v1alpha1.TrainingJobStatus) {
	s.Attempt, s.Restarts, s.ChargedRestarts = 1, 1, 1
	s.Incidents = []v1alpha1.Incident{{Charged: true, RestartTime: morning}}
}

func explained(s *v1alpha1.TrainingJobStatus) {
	s.ChargedRestarts = 0
	s.Incidents[0].Charged, s.Incidents[0].Explained = false, true
}

func world(size string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: "WORLD_SIZE", Value: size})
	}
}

func finished(s *v1alpha1.TrainingJobStatus) {
	for _, condition := range []string{v1alpha1.ConditionSucceeded, v1alpha1.ConditionFinished} {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue})
	}
	s.Phase, s.CompletionTime = v1alpha1.PhaseSucceeded, &metav1.Time{Time: morning.Time}
}

var morning = metav1.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)

func later(s *v1alpha1.TrainingJobStatus) {
	next := metav1.NewTime(morning.Add(time.Second))
	s.NextStartTime = &next
}

// laterAlone holds back worker 0 for a second.
func laterAlone(s *v1alpha1.TrainingJobStatus) {
	s.Memory.Roles = map[v1alpha1.Role]v1alpha1.RoleMemory{
		v1alpha1.Worker: {RestartsInRow: "0:2", NextStarts: fmt.Sprintf("0:%d", morning.Add(time.Second).Unix())},
	}
}

// tale puts what happened in order, after the job's submission.
func tale(happened ...ledger.Observation) []ledger.Observation {
	story := []ledger.Observation{{Event: watch.Added, Job: builder.Job("p", builder.Framework(v1alpha1.PyTorch), builder.Workers(2))}}
	story[0].Job.UID = "the-job"
	seen := map[types.UID]bool{}
	for i, o := range happened {
		o.Revision = uint64(i + 1)
		if o.Event == "" {
			o.Event = watch.Modified
		}
		if o.Pod != nil && !seen[o.Pod.UID] {
			seen[o.Pod.UID], o.Event = true, watch.Added
		}
		story = append(story, o)
	}
	return story
}

// version is a version of the job, created and no more unless told otherwise.
func version(how ...func(*v1alpha1.TrainingJobStatus)) ledger.Observation {
	j := builder.Job("p", builder.Framework(v1alpha1.PyTorch), builder.Workers(2))
	j.UID, j.Status.Phase = "the-job", v1alpha1.PhasePending
	for _, change := range how {
		change(&j.Status)
	}
	return ledger.Observation{Job: j}
}

// pod is a version of a pod as the operator makes it, unless told otherwise.
func pod(name string, how ...func(*corev1.Pod)) ledger.Observation {
	is, _ := ledger.LifeOf("p", name)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: morning}}
	p.UID = types.UID(name)
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(version().Job, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
	index, attempt := strconv.Itoa(is.Index), strconv.Itoa(is.Attempt)
	p.Labels = map[string]string{
		v1alpha1.LabelJobName: "p", v1alpha1.LabelJobUID: "the-job", v1alpha1.LabelRole: is.Role, v1alpha1.LabelIndex: index,
		v1alpha1.LabelRank: index, v1alpha1.LabelAttempt: attempt, v1alpha1.LabelLife: fmt.Sprintf("%d-%d", is.Attempt, is.Replacement),
		v1alpha1.KubeflowLabelJobName: "p", v1alpha1.KubeflowLabelReplicaType: is.Role, v1alpha1.KubeflowLabelReplicaIndex: index,
	}
	if p.Labels[v1alpha1.LabelNamed] = "true"; is.Index > 0 {
		delete(p.Labels, v1alpha1.LabelNamed)
	}
	p.Spec = corev1.PodSpec{Hostname: "p-" + is.Slot(), Subdomain: "p", RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Env: []corev1.EnvVar{{Name: v1alpha1.EnvRank, Value: index}}}}}
	p.Status.Phase = corev1.PodPending
	for _, change := range how {
		change(p)
	}
	return ledger.Observation{Pod: p}
}
