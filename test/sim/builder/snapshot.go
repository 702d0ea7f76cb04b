package builder

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
)

// SnapshotOption changes what is observed.
type SnapshotOption func(*state.Observed)

// Snapshot returns the complete snapshot of a copy of the job, with its Service there. A job that has pods has started, at
// Epoch if it does not say when. It panics if the job's status cannot be decoded.
func Snapshot(job *v1alpha1.TrainingJob, options ...SnapshotOption) *state.Snapshot {
	o := &state.Observed{Now: Epoch.Add(time.Minute), Job: job.DeepCopy(), HasService: true, LostAfter: 15 * time.Second, MaxCheckpointWait: 5 * time.Minute}
	for _, apply := range options {
		apply(o)
	}
	if len(o.Pods) > 0 && o.Job.Status.StartTime == nil {
		o.Job.Status.StartTime = TimePtr(0)
	}
	return New(*o)
}

// New returns the snapshot of what was observed, with the answer of the API server that it has none of the missing pods, and with the stacks read. It panics if the job's
// status cannot be decoded.
func New(o state.Observed) *state.Snapshot {
	if o.Seen.Stacks.Until.IsZero() {
		o.Seen.Stacks.Until = Epoch
	}
	s, err := state.New(o)
	if err != nil {
		panic(err)
	}
	s.Absent = map[string]bool{}
	for r := range s.Replicas() {
		if r.Pod == nil {
			s.Absent[state.PodName(s.Job.Name, r.Slot, r.Life)] = true
		}
	}
	return s
}

// Now sets the clock to d after Epoch.
func Now(d time.Duration) SnapshotOption {
	return func(s *state.Observed) { s.Now = Epoch.Add(d) }
}

// FirstLook says that this process looks at the job for the first time.
func FirstLook() SnapshotOption { return func(s *state.Observed) { s.FirstLook = true } }

// NoService says that the job's Service is missing.
func NoService() SnapshotOption { return func(s *state.Observed) { s.HasService = false } }

// FormerJobPod is a pod of an earlier job of the same name, which runs.
func FormerJobPod(options ...PodOption) SnapshotOption {
	return func(s *state.Observed) {
		pod := Pod(s.Job, state.Slot{Role: v1alpha1.Worker, Index: 1}, state.Life{}, corev1.PodRunning, options...)
		pod.UID = "former"
		s.Former = append(s.Former, state.FormerPodOf(pod))
	}
}

// Refused says why the API server would not take a child, and how long after Epoch to try again.
func Refused(reason, message string, retry time.Duration) SnapshotOption {
	return func(s *state.Observed) {
		s.Refusal = &state.Refusal{Reason: reason, Message: message, Retry: Epoch.Add(retry)}
	}
}

// Recorded says that this process last wrote the status d after Epoch.
func Recorded(d time.Duration) SnapshotOption {
	return func(s *state.Observed) { s.Recorded = Epoch.Add(d) }
}

// NodeLost says that the node has not been ready since d after Epoch, and that its pods count as lost 15 s later.
func NodeLost(node string, d time.Duration) SnapshotOption {
	return func(s *state.Observed) {
		ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: Time(d)}
		s.Nodes = append(s.Nodes, nodes.Of(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: node}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}},
		}, 15*time.Second, nil))
	}
}

// NodeSilent says that the node's Lease has not been renewed since d after Epoch.
func NodeSilent(node string, d time.Duration) SnapshotOption {
	return func(s *state.Observed) {
		s.Nodes = state.WithSilent(s.Nodes, map[string]time.Time{node: Epoch.Add(d)}, s.Now)
	}
}

// NodeTainted says that the node has that taint since d after Epoch, which makes its pods count as lost.
func NodeTainted(node, taint string, d time.Duration) SnapshotOption {
	return func(s *state.Observed) {
		s.Nodes = append(s.Nodes, nodes.Of(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: taint, TimeAdded: TimePtr(d)}}},
		}, 15*time.Second, nodes.Signals{{Kind: nodes.TaintSignal, Name: taint}: state.LoseNode}))
	}
}

// NodeUnhealthy says that the node's condition of that type shows since d after Epoch that it is unhealthy, and explains failures.
func NodeUnhealthy(node, kind, message string, d time.Duration) SnapshotOption {
	return func(s *state.Observed) {
		says := corev1.NodeCondition{Type: corev1.NodeConditionType(kind), Status: corev1.ConditionTrue, Message: message, LastTransitionTime: Time(d)}
		s.Nodes = append(s.Nodes, nodes.Of(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: node}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{says}},
		}, 15*time.Second, nodes.Signals{{Kind: nodes.ConditionSignal, Name: kind}: state.BlameNode}))
	}
}

// NodeCordoned says that an administrator has cordoned the node.
func NodeCordoned(node string) SnapshotOption {
	return func(s *state.Observed) {
		s.Nodes = append(s.Nodes, nodes.Of(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: corev1.NodeSpec{Unschedulable: true}}, 15*time.Second, nodes.DefaultSignals()))
	}
}

// UnhealthyNodes are nodes that new pods are to stay off.
func UnhealthyNodes(names ...string) SnapshotOption {
	return func(s *state.Observed) { s.UnhealthyNodes = names }
}

// NodeDeleted says that the node is gone.
func NodeDeleted(node string) SnapshotOption {
	return func(s *state.Observed) { s.Nodes = append(s.Nodes, nodes.Deleted(node, s.Now)) }
}

// Reported says that rank 0 has reported that step d after Epoch.
func Reported(step int64, d time.Duration) SnapshotOption {
	return func(s *state.Observed) {
		report := state.Report{Step: step, Checkpoint: fmt.Sprintf("step-%d", step), ID: fmt.Sprintf("%v %d", d, step)}
		s.Progress = state.Progress{Report: report, Renewed: Epoch.Add(d), Read: s.Progress.Read}
	}
}

// ProcessBegan says that the operator saw the process of rank 0 begin d after Epoch.
func ProcessBegan(d time.Duration) SnapshotOption {
	return func(s *state.Observed) { s.Progress.Began = Epoch.Add(d) }
}

// Read says that the page was last read with an answer d after Epoch.
func Read(d time.Duration) SnapshotOption {
	return func(s *state.Observed) { s.Progress.Read = Epoch.Add(d) }
}

// LateReport says that the page shows no new report for longer than usual.
func LateReport() SnapshotOption {
	return func(s *state.Observed) { s.Progress.IsLate = true }
}

// Unread says why the page cannot be read.
func Unread(why string) SnapshotOption {
	return func(s *state.Observed) { s.Progress.Unread = why }
}

// Stacks says where the ranks are, and that the operator waits for others until so long after Epoch; 0 for no longer.
func Stacks(until time.Duration, list ...state.Stack) SnapshotOption {
	return func(s *state.Observed) {
		s.Seen.Stacks = state.Stacks{Until: Epoch.Add(until), List: list}
	}
}

// SavedFor says that the latest report answers the request to stop of that id.
func SavedFor(id string) SnapshotOption {
	return func(s *state.Observed) { s.Progress.SavedFor = id }
}

// Each adds a pod of that life and phase for each of the role's first n replicas, with the options that of returns for it; nil for none.
// For many pods it is faster than an option for each.
func Each(role string, n int, life state.Life, phase corev1.PodPhase, of func(i int) []PodOption) SnapshotOption {
	return func(s *state.Observed) {
		for i := range n {
			var options []PodOption
			if of != nil {
				options = of(i)
			}
			p, ok := state.PodOf(s.Job.Name, Pod(s.Job, state.Slot{Role: Role(role), Index: i}, life, phase, options...))
			if !ok {
				panic(fmt.Sprintf("the pod of %s-%d is none of ours", role, i))
			}
			s.Pods = append(s.Pods, p)
		}
	}
}

// Pending adds a pod that does not run yet.
func Pending(role string, index int, options ...PodOption) SnapshotOption {
	return pod(role, index, corev1.PodPending, options)
}

// Running adds a pod that runs and is ready.
func Running(role string, index int, options ...PodOption) SnapshotOption {
	return pod(role, index, corev1.PodRunning, append([]PodOption{Ready()}, options...))
}

// Succeeded adds a pod that has exited with code 0, at Epoch + 30 s unless At says otherwise.
func Succeeded(role string, index int, options ...PodOption) SnapshotOption {
	return pod(role, index, corev1.PodSucceeded, append([]PodOption{At(30 * time.Second), Exit(0)}, options...))
}

// Failed adds a pod that has failed, at Epoch + 30 s unless At says otherwise. Exit says with which code its container
// ended; without it no container has.
func Failed(role string, index int, options ...PodOption) SnapshotOption {
	return pod(role, index, corev1.PodFailed, append([]PodOption{At(30 * time.Second)}, options...))
}

// Deleted adds a pod that runs and was told to end, at Epoch + 30 s unless At says otherwise.
func Deleted(role string, index int, options ...PodOption) SnapshotOption {
	return pod(role, index, corev1.PodRunning, append([]PodOption{DeletedAt(30 * time.Second)}, options...))
}

// Gone says that the slot's present pod ran, according to the status, and is there no more.
func Gone(role string, index int) SnapshotOption {
	return func(s *state.Observed) {
		memory, err := state.ReadMemory(s.Job)
		if err != nil {
			panic(err)
		}
		memory[Role(role)].Started.Add(index)
		s.Job.Status.Memory.Roles = memory.Write()
	}
}

// SeenGone says the same, and that the pod's last version was seen.
func SeenGone(role string, index int, options ...PodOption) SnapshotOption {
	return func(s *state.Observed) {
		Gone(role, index)(s)
		slot := state.Slot{Role: Role(role), Index: index}
		p, ran := state.GonePodOf(s.Job.Name, Pod(s.Job, slot, state.Life{}, corev1.PodRunning, options...), s.Now)
		if !ran {
			panic(role + " never ran")
		}
		s.Gone = append(s.Gone, p)
	}
}

// SeenEnded says the same of a pod of that phase that nobody had told to end.
func SeenEnded(role string, index int, phase corev1.PodPhase, options ...PodOption) SnapshotOption {
	return func(s *state.Observed) {
		slot := state.Slot{Role: Role(role), Index: index}
		p, hadNode := state.GonePodOf(s.Job.Name, Pod(s.Job, slot, state.Life{}, phase, options...), s.Now)
		if !hadNode {
			panic(role + " never had a node")
		}
		s.Gone = append(s.Gone, p)
	}
}

// pod adds a pod of the slot's present life, unless an option gives it another name.
func pod(role string, index int, phase corev1.PodPhase, options []PodOption) SnapshotOption {
	return func(s *state.Observed) {
		memory, err := state.ReadMemory(s.Job)
		if err != nil {
			panic(err)
		}
		slot := state.Slot{Role: Role(role), Index: index}
		life := state.Life{Attempt: int(s.Job.Status.Attempt)}
		if m := memory[slot.Role]; m != nil {
			life.Replacement = m.Replacements[index]
		}
		full := Pod(s.Job, slot, life, phase, options...)
		p, ok := state.PodOf(s.Job.Name, full)
		if !ok {
			panic(fmt.Sprintf("pod name %q is none of ours", full.Name))
		}
		s.Pods = append(s.Pods, p)
	}
}
