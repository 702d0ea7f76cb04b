package story

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/advice"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// View is the input of a story.
type View struct {
	Job *v1alpha1.TrainingJob
	// Pods are the job's pods, of every life.
	Pods []corev1.Pod
	// Events are those about the job, in any order. PodEvents are those about the first of
	// Suspects that has a warning.
	Events, PodEvents []corev1.Event
	// Served is the Kubeflow job that the job serves, if the caller may read it.
	Served metav1.Object
	// Local is the folder of the local run that the job belongs to; empty for a job of a cluster.
	Local string
	// IsStopped is whether a local run was stopped before the job had finished.
	IsStopped bool
	Now       time.Time
	// lines are the lines that explain the ends of programs, by pod, from logs.
	lines map[string]string
	// Newest are the newest log lines of the replicas, in the order of ranks, or LinesUnread is why they could not be read. Both are empty for
	// a job whose hangs the operator notices.
	Newest      []NewestLine
	LinesUnread string
}

// NewestLine is when a replica printed its newest line; a zero time if it has printed none.
type NewestLine struct {
	Replica string
	Time    time.Time
}

// MissesHangs reports whether all replicas run and the operator would not notice a hang.
func (v *View) MissesHangs() bool {
	job := v.Job
	return job.Status.Phase == v1alpha1.PhaseRunning && job.Status.Reason == v1alpha1.ReasonAllReplicasRunning && job.Spec.Progress == nil &&
		condition(job, v1alpha1.ConditionProgressing) == nil && !job.Spec.IsManagedElsewhere() && !v.IsStopped && job.DeletionTimestamp == nil
}

// reader returns whom advice about the job is for.
func (v *View) reader() advice.Reader { return advice.Of(v.Job, v.Local) }

// Name is how kubectl tj names the job: with the kind of the Kubeflow job, if it serves one.
func (v *View) Name() string { return v.reader().Name() }

// queue returns the queue in which the job waits. Of a job that serves a Kubeflow job, the Kubeflow job waits.
func (v *View) queue() string {
	if v.Served != nil {
		return v.Served.GetLabels()[v1alpha1.LabelQueue]
	}
	return state.QueueOf(v.Job)
}

// Observed returns what there is to see of the job and its pods. Nodes, which few users may read, are left out.
func (v *View) Observed() *state.Observed {
	o := &state.Observed{Now: v.Now, Job: v.Job, HasService: true}
	for i := range v.Pods {
		if !state.IsOwnedBy(&v.Pods[i], v.Job) {
			continue
		}
		if p, isReplica := state.PodOf(v.Job.Name, &v.Pods[i]); isReplica {
			o.Pods = append(o.Pods, p)
		}
	}
	return o
}

// Snapshot returns the job as the operator sees it, without nodes. It returns an error if the status was written by an operator with
// another form of the memory.
func (v *View) Snapshot() (*state.Snapshot, error) {
	s, err := state.New(*v.Observed())
	if err != nil {
		return nil, fmt.Errorf("the status of %s was written by an operator of another version than this program: %w", v.Job.Name, err)
	}
	return s, nil
}

// EventsByTime returns the Events, newest first, with printable words: every user who may write Events chooses them.
func (v *View) EventsByTime() []corev1.Event {
	events := slices.Clone(v.Events)
	for i := range events {
		events[i].Reason, events[i].Message = state.Printable(events[i].Reason), state.Printable(events[i].Message)
	}
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return Seen(&b).Compare(Seen(&a)) })
	return events
}

// warnings returns the latest warning Events, newest first, at most n of them and each message once.
func (v *View) warnings(n int) []corev1.Event {
	events := v.EventsByTime()
	var list []corev1.Event
	for i := range events {
		isKnown := slices.ContainsFunc(list, func(e corev1.Event) bool { return e.Message == events[i].Message })
		if events[i].Type == corev1.EventTypeWarning && !isKnown && len(list) < n {
			list = append(list, events[i])
		}
	}
	return list
}

// Seen returns when an Event was last seen: each writer of Events sets other fields.
func Seen(e *corev1.Event) time.Time {
	latest := e.CreationTimestamp.Time
	for _, t := range []time.Time{e.FirstTimestamp.Time, e.LastTimestamp.Time, e.EventTime.Time} {
		latest = state.Latest(latest, t)
	}
	if e.Series != nil {
		latest = state.Latest(latest, e.Series.LastObservedTime.Time)
	}
	return latest
}

// ago returns how long before now a time was, as kubectl writes it: "3m12s".
func (v *View) ago(t time.Time) string { return duration.HumanDuration(max(0, v.Now.Sub(t))) }

// clock returns a time of the day of the view, or the date too if it is of another day.
func (v *View) clock(t time.Time) string {
	if t.UTC().Format(time.DateOnly) == v.Now.UTC().Format(time.DateOnly) {
		return t.UTC().Format("15:04:05 UTC")
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func condition(job *v1alpha1.TrainingJob, kind string) *metav1.Condition {
	return meta.FindStatusCondition(job.Status.Conditions, kind)
}

func isTrue(job *v1alpha1.TrainingJob, kind string) bool {
	return meta.IsStatusConditionTrue(job.Status.Conditions, kind)
}

// creatingFor is how long a pod may be pending before its Events are worth a look, and mostSuspects of how many pods.
const (
	creatingFor  = 10 * time.Second
	mostSuspects = 8
)

// Suspects returns the pods whose Events may say more than the status: the one behind the last failure if it is still there and the kubelet may have
// ended it, else those that have been pending for a while. It returns none that only waits for a node, which the status shows.
func (v *View) Suspects() (list []*corev1.Pod) {
	f := v.Job.Status.LastFailure
	if f != nil && failure.MayBeKubelets(&v.Job.Spec, f) {
		if i := slices.IndexFunc(v.Pods, func(pod corev1.Pod) bool { return pod.Name == f.Pod }); i >= 0 {
			return []*corev1.Pod{&v.Pods[i]}
		}
	}
	for i := range v.Pods {
		if pod := &v.Pods[i]; v.isStuck(pod) && len(list) < mostSuspects {
			list = append(list, pod)
		}
	}
	return list
}

// isStuck reports whether the pod has been pending for a while, and not for a node or a gate.
func (v *View) isStuck(pod *corev1.Pod) bool {
	waitsForNode := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && (c.Reason == corev1.PodReasonUnschedulable || c.Reason == corev1.PodReasonSchedulingGated)
	})
	return pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil && v.Now.Sub(pod.CreationTimestamp.Time) > creatingFor && !waitsForNode
}

// suspect returns the pod that PodEvents are about; nil if there is none.
func (v *View) suspect() *corev1.Pod {
	for i := range v.Pods {
		if len(v.PodEvents) > 0 && v.Pods[i].Name == v.PodEvents[0].InvolvedObject.Name {
			return &v.Pods[i]
		}
	}
	return nil
}

// HasWarning reports whether one of the Events is a warning.
func HasWarning(events []corev1.Event) bool {
	return slices.ContainsFunc(events, func(e corev1.Event) bool { return e.Type == corev1.EventTypeWarning })
}

// podWarnings returns what was reported about the suspect pod, each message once.
func (v *View) podWarnings() []string {
	var texts []string
	for i := range v.PodEvents {
		if e := &v.PodEvents[i]; e.Type == corev1.EventTypeWarning && !slices.Contains(texts, e.Message) {
			texts = append(texts, e.Reason+": "+e.Message)
		}
	}
	return texts
}

// Count returns a number with its noun: "1 attempt", "3 attempts".
func Count[N int | int32 | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
