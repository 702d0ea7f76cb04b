package world

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
)

// What follows from what. A fault ends a process, or cuts off a node; the processes that need it end seconds later, hang until they give up, or go
// on. All of it is one fault, and the checks know that.

// Fault is what goes wrong by itself, with all that follows from it.
type Fault struct {
	// What is how it shows: "worker-1 exits with 1", "node-2 is cut off".
	What string
	// Pods are the names of the pods that it ended first. Those that followed are not among them.
	Pods []string
}

// Began reports whether the fault ended the pod first.
func (f *Fault) Began(pod string) bool { return slices.Contains(f.Pods, pod) }

// process is a life of a container in a pod.
type process struct {
	pod types.UID
	id  string
}

// consequence is the end of a process that has lost another one.
type consequence struct {
	process
	name  string
	at    time.Time
	code  int32
	words string
}

// FaultOf returns the fault that ended the pod's process, or the one before it in the pod if a process runs; nil if none did.
func (w *World) FaultOf(pod *corev1.Pod) *Fault { return w.faults[processOf(pod)] }

// EndedItself reports whether the pod's process, or the one before it in the pod if a process runs, ended before anything
// told it to.
func (w *World) EndedItself(pod *corev1.Pod) bool { return w.ended[processOf(pod)] }

// processOf returns the process of the pod's first container, or the one that ended last.
func processOf(pod *corev1.Pod) process {
	p := process{pod: pod.UID}
	if len(pod.Status.ContainerStatuses) > 0 {
		p.id = pod.Status.ContainerStatuses[0].ContainerID
	}
	return p
}

// runs reports whether the first container of the pod truly runs, whatever its kubelet says.
func (w *World) runs(pod *corev1.Pod) bool { return runs(pod) && !w.unreported(pod) }

// unreported reports whether the pod's process has ended, and its kubelet has not said so yet.
func (w *World) unreported(pod *corev1.Pod) bool {
	return slices.ContainsFunc(w.reports, func(r report) bool { return r.process == processOf(pod) })
}

// runs reports whether the first container of the pod runs, as far as its kubelet says.
func runs(pod *corev1.Pod) bool {
	return pod != nil && pod.Status.Phase == corev1.PodRunning && len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Running != nil
}

// hear takes over from a change of a pod what it does to processes that need its own.
func (w *World) hear(change *server.Change) {
	if change.Kind != server.Pods || w.Job() == nil {
		return
	}
	was, _ := change.Was.(*corev1.Pod)
	is, _ := change.Is.(*corev1.Pod)
	if r := change.Request; was != nil && r.User == Operator && (r.Verb == server.Delete || r.Strategic) {
		w.stopped[processOf(was)] = true
	}
	goesOn := runs(is) && processOf(is) == processOf(was)
	if runs(was) && !goesOn && !w.isPoliteEnd(is) {
		w.breaks(was)
	}
}

// breaks has the pod's process end, by a fault of its own unless it is part of another. If the operator ended it, there is no fault.
func (w *World) breaks(pod *corev1.Pod) {
	if w.stopped[processOf(pod)] || w.ended[processOf(pod)] {
		return
	}
	w.ended[processOf(pod)] = pod.DeletionTimestamp == nil
	f := w.faults[processOf(pod)]
	if f == nil {
		f = &Fault{What: pod.Name + " ends"}
	}
	w.hit(f, pod)
}

// isPoliteEnd reports whether the pod's program is done.
func (w *World) isPoliteEnd(pod *corev1.Pod) bool {
	return pod != nil && pod.DeletionTimestamp == nil && len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Terminated != nil &&
		pod.Status.ContainerStatuses[0].State.Terminated.ExitCode == 0
}

// hit notes that the fault ended the processes of the pods, and draws what becomes of those that need them.
func (w *World) hit(f *Fault, pods ...*corev1.Pod) {
	if w.Job() == nil {
		return
	}
	for _, pod := range pods {
		if w.faults[processOf(pod)] == nil {
			w.faults[processOf(pod)] = f
			f.Pods = append(f.Pods, pod.Name)
		}
	}
	for _, peer := range w.Pods() {
		isFree := w.runs(peer) && w.faults[processOf(peer)] == nil && !w.stopped[processOf(peer)]
		if isFree && slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return w.needs(peer, pod) }) {
			w.draw(f, peer)
		}
	}
}

// needs reports whether the program of one pod cannot go on without that of the other.
func (w *World) needs(one, other *corev1.Pod) bool {
	spec := &w.Job().Spec
	role, needed := roleOf(one), roleOf(other)
	isRank := func(role string) bool { return role != "ps" && role != "evaluator" }
	switch _, hasPS := spec.ReplicaSpecs[v1alpha1.PS]; {
	case one.UID == other.UID, one.Labels[v1alpha1.LabelAttempt] != other.Labels[v1alpha1.LabelAttempt], role == "evaluator":
		return false
	case hasPS:
		return needed == "ps" && isRank(role)
	case spec.Framework == v1alpha1.Custom:
		return false
	case spec.Elastic != nil: // the agents of the others meet again, if they can
		return needed != "worker" || other.Labels[v1alpha1.LabelIndex] == "0"
	default:
		return isRank(needed)
	}
}

func roleOf(pod *corev1.Pod) string { return pod.Labels[v1alpha1.LabelRole] }

// draw decides what becomes of a process that has lost another one.
func (w *World) draw(f *Fault, peer *corev1.Pod) {
	if w.Chance == nil {
		return
	}
	after := time.Duration(w.Chance.IntN(400)) * time.Millisecond
	if w.oneIn(2) {
		after = time.Duration(w.Chance.IntN(3000)) * time.Millisecond
	}
	switch chance := w.Chance.IntN(100); {
	case chance >= w.Habits.Following || chance%8 == 0 && w.Job().Spec.Elastic != nil: // it goes on; agents of torchrun meet again
		return
	case chance%8 == 0: // it hangs, and gives up
		after = time.Duration(10+w.Chance.IntN(30)) * time.Second
	}
	w.faults[processOf(peer)] = f
	how := w.lastWordsOf(w.Job().Spec.Framework)
	w.following = append(w.following, consequence{processOf(peer), peer.Name, w.Clock.Now().Add(after), how.code, how.words})
}

// report is an end that a kubelet has yet to report.
type report struct {
	process
	name string
	due  time.Time
	end  end
	at   time.Time
	// why is the reason of a container that was ended; empty for the usual one.
	why string
	// first is what the kubelet writes first of a pod that it evicts; nil of an exit.
	first func(*corev1.Pod)
}

// tell has the kubelets report the ends whose time has come.
func (w *World) tell() {
	var due []report
	w.reports = slices.DeleteFunc(w.reports, func(r report) bool {
		isDue := !w.Clock.Now().Before(r.due)
		if isDue {
			due = append(due, r)
		}
		return isDue
	})
	for _, r := range due {
		pod := w.pod(r.name)
		switch {
		case !runs(pod) || processOf(pod) != r.process:
		case w.isDown(pod.Spec.NodeName):
			w.reports = append(w.reports, r)
		default:
			w.shows(pod, r)
		}
	}
}

// shows writes the first version of an end.
func (w *World) shows(pod *corev1.Pod, r report) {
	if r.first != nil {
		w.writePod(Kubelet, pod, r.first)
		return
	}
	w.exited(pod, r)
}

// report has the kubelet report an end at once, or within Late. What needs the process notices now.
func (w *World) report(pod *corev1.Pod, r report) {
	if w.Habits.Late == 0 || !runs(pod) {
		w.shows(pod, r)
		return
	}
	r.due = r.at.Add(time.Duration(w.Chance.Int64N(int64(w.Habits.Late))))
	w.reports = append(w.reports, r)
	if r.first != nil || r.end.code != 0 {
		w.breaks(pod)
	}
}

// ExitUnseen ends the process of a pod now. Its kubelet reports that, with the reason if it is not empty, so much later.
func (w *World) ExitUnseen(pod *corev1.Pod, code int32, why, words string, late time.Duration) {
	w.say("kubelet: %s exits with %d, which shows later", pod.Name, code)
	now := w.Clock.Now()
	w.reports = append(w.reports, report{process: processOf(pod), name: pod.Name, due: now.Add(late), end: end{code, words}, at: now, why: why})
	w.breaks(pod)
}

// end is how a process ends.
type end struct {
	code  int32
	words string
}

// ofLibraries is how ranks end that have lost a peer, by the library through which they meet.
var ofLibraries = map[v1alpha1.Framework][]end{
	v1alpha1.PyTorch: {
		{1, "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.1.2.3]:40991"},
		{1, "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error"},
		{134, "[rank1]:[E] ProcessGroupNCCL.cpp:616 [Rank 1] Watchdog caught collective operation timeout\n" + strings.Repeat("frame #7: <unknown function> + 0xd6df4\n", 20)},
	},
	v1alpha1.JAX: {
		{134, "F external/xla/xla/pjrt/distributed/client.h:80] Terminating process because the JAX distributed service detected fatal errors"},
		{139, ""},
	},
	v1alpha1.MPI: {
		{1, "ORTE has lost communication with a remote daemon.\nThis is usually due to either a failure of the TCP network\nconnection to the node, or possibly an internal failure of the daemon itself."},
		{1, "Connection reset by peer"},
	},
	v1alpha1.TensorFlow: {
		{1, "tensorflow.python.framework.errors_impl.UnavailableError: failed to connect to all addresses"},
		{1, "tensorflow.python.framework.errors_impl.DeadlineExceededError: Deadline Exceeded"},
	},
}

// ofOthers is the same for every other library.
var ofOthers = []end{{1, "Connection reset by peer"}, {1, "Broken pipe"}}

// SpeaksOfPeer reports whether these are words of a program in this world that lost a peer, and not of one that waits for its peers to listen.
func SpeaksOfPeer(words string) bool {
	isOne := func(e end) bool {
		return e.words != "" && (e.words == words || isTable(words) && strings.Contains(words, e.words))
	}
	isOfLibrary := slices.ContainsFunc(slices.Concat(slices.Collect(maps.Values(ofLibraries))...), isOne)
	return strings.HasPrefix(words, "Connection closed by peer") || slices.ContainsFunc(ofOthers, isOne) || isOfLibrary && !SpeaksOfStart(words)
}

// SpeaksOfStart reports whether ranks use these words also of a peer that does not listen yet.
func SpeaksOfStart(words string) bool { return strings.Contains(words, "failed to connect") }

func (w *World) lastWordsOf(framework v1alpha1.Framework) end {
	ends := ofLibraries[framework]
	if len(ends) == 0 {
		ends = ofOthers
	}
	return ends[w.Chance.IntN(len(ends))]
}

// follow ends the processes whose time has come, if their nodes can be reached.
func (w *World) follow() {
	now := w.Clock.Now()
	w.following = slices.DeleteFunc(w.following, func(c consequence) bool {
		if now.Before(c.at) {
			return false
		}
		if pod := w.pod(c.name); w.runs(pod) && processOf(pod) == c.process && !w.isDown(pod.Spec.NodeName) {
			w.Exit(pod, c.code, c.words)
		}
		return true
	})
}

// Share ends the pods within two seconds by one fault that they share.
func (w *World) Share(what string, pods []*corev1.Pod) {
	f := &Fault{What: what}
	for _, pod := range pods {
		if w.runs(pod) && w.faults[processOf(pod)] == nil {
			w.faults[processOf(pod)] = f
			f.Pods = append(f.Pods, pod.Name)
			after := time.Duration(w.Chance.IntN(2000)) * time.Millisecond
			w.following = append(w.following, consequence{processOf(pod), pod.Name, w.Clock.Now().Add(after), 1, "OSError: [Errno 5] Input/output error: '/data/shard-3'"})
		}
	}
}

// OutOfMemory ends a pod that has run out of memory. Its kubelet reports it at once.
func (w *World) OutOfMemory(pod *corev1.Pod) {
	habits := w.Habits
	w.Habits.Late, w.Habits.Agents = 0, NoAgents
	w.Exit(pod, 137, "")
	w.outOfMemory(pod)
	w.Habits = habits
}

// Nodes returns the names of all nodes that there ever were.
func (w *World) Nodes() []string { return w.nodes }
