package state_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

const (
	repository = "registry.example/team/train"
	digest     = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	imageID    = repository + "@" + digest
)

// tells makes the pod one that was told that.
func tells(annotation string) builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"trainingjob.dev/in-place-restart": annotation}
		pod.Spec.Containers[0].Image = repository + ":v1"
	})
}

// process gives a container a process of its own.
func process(id string, c corev1.ContainerStatus) corev1.ContainerStatus {
	c.ContainerID, c.ImageID = id, imageID
	return c
}

// What kubelets were recorded to say of pods whose image was renamed, and what it means.
func TestAPodThatWasToldToRestartInPlace(t *testing.T) {
	told := tells(`{"life":"2-0","from":"1-0","process":"containerd://a","time":"2026-01-05T12:00:40Z"}`)
	life := func(attempt, replacement int) state.Life {
		return state.Life{Attempt: attempt, Replacement: replacement}
	}
	old, next := process("containerd://a", ready("main")), process("containerd://b", ready("main"))
	broken, killed := process("containerd://a", ended("main", 1, 41*second)), process("containerd://b", ended("main", 137, 50*second))
	for name, c := range map[string]struct {
		phase      corev1.PodPhase
		options    []builder.PodOption
		life       state.Life
		restarting bool
		failed     bool
	}{
		"its old process runs":                             {corev1.PodRunning, []builder.PodOption{containers(old), told}, life(2, 0), true, false},
		"its old process has ended and no other has begun": {corev1.PodRunning, []builder.PodOption{containers(broken), told}, life(2, 0), true, false},
		"its new container is being created":               {corev1.PodPending, []builder.PodOption{containers(corev1.ContainerStatus{Name: "main"}), told}, life(2, 0), true, false},
		"its new process runs":                             {corev1.PodRunning, []builder.PodOption{containers(next), told}, life(2, 0), false, false},
		"its new process was killed":                       {corev1.PodFailed, []builder.PodOption{containers(killed), told}, life(2, 0), false, true},
		"the kubelet was killed before it began another":   {corev1.PodFailed, []builder.PodOption{containers(broken), told}, life(1, 0), false, true},
		"the node has lost track of it":                    {corev1.PodFailed, []builder.PodOption{containers(ended("main", 137, 41*second)), told}, life(2, 0), false, true},
		"it was never told":                                {corev1.PodRunning, []builder.PodOption{containers(old), tells(`{"life":"0-0"}`)}, life(0, 0), false, false},
		"what it was told is nonsense":                     {corev1.PodRunning, []builder.PodOption{containers(old), tells(`{"life":"9"}`)}, life(0, 0), false, false},
		"it is told to go back":                            {corev1.PodRunning, []builder.PodOption{containers(old), tells(`{"life":"1-0","from":"2-0","process":"containerd://a"}`)}, life(0, 0), false, false},
	} {
		p, _ := state.PodOf("j", builder.Pod(builder.Job("j", builder.Workers(1)), state.Slot{Role: v1alpha1.Worker}, life(0, 0), c.phase, append(c.options, builder.Ready())...))
		if p.Life != c.life || p.Restarting != c.restarting || (p.Exit != nil) != c.failed {
			t.Errorf("%s: life %v, restarting %t, exit %v", name, p.Life, p.Restarting, p.Exit)
		}
		if left := c.phase == corev1.PodFailed && c.life == life(1, 0); p.Left != left {
			t.Errorf("%s: left %t, want %t", name, p.Left, left)
		}
		if p.Restarting && (p.Ready || p.HasStarted() || p.HasSucceeded() || !p.Created.Equal(at(40*second))) {
			t.Errorf("%s: ready %t, started %t, succeeded %t, since %v", name, p.Ready, p.HasStarted(), p.HasSucceeded(), p.Created)
		}
	}
}

// A node that is lost under a restart in place may have begun the new life unseen, as may a kubelet that evicted the pod. No other pod has that life.
func TestALostNodeUndoesARestartInPlace(t *testing.T) {
	told := tells(`{"life":"1-0","from":"0-0","process":"containerd://a","time":"2026-01-05T12:00:40Z"}`)
	old, next := containers(process("containerd://a", ready("main"))), containers(process("containerd://b", ready("main")))
	lost := builder.NodeLost("gone", 30*second)
	former, present, made := state.Life{}, state.Life{Attempt: 1}, builder.Life(0, 0)
	ran := []builder.JobOption{builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "0"})}
	evicted := builder.Failed("worker", 0, builder.RanBefore(), builder.Rejected("Evicted", "too much"), made, told)
	for name, c := range map[string]struct {
		job  []builder.JobOption
		seen []builder.SnapshotOption
		want state.Life
	}{
		"it restarts on a node that is well":         {nil, seen(builder.Running("worker", 0, made, told, old)), present},
		"its node is lost":                           {nil, seen(builder.Running("worker", 0, made, told, old, builder.On("gone")), lost), former},
		"its node is back":                           {nil, seen(builder.Running("worker", 0, made, told, old, builder.Fenced())), former},
		"its node is lost after it began a life":     {nil, seen(builder.Running("worker", 0, made, told, next, builder.On("gone"), builder.Fenced()), lost), present},
		"it is evicted before it was seen to run":    {nil, seen(evicted), former},
		"it is evicted after it has run for a while": {ran, seen(evicted), present},
	} {
		s := builder.Snapshot(builder.Job("j", append(c.job, builder.Workers(1), builder.Attempt(1))...), c.seen...)
		if p := s.Pods[0]; p.Life != c.want || p.Left != (c.want == former) {
			t.Errorf("%s: life %v, left %t; want life %v", name, p.Life, p.Left, c.want)
		}
		if r := s.Replica(s.Pods[0].Slot); (r.State == state.Ending) != (c.want == former) {
			t.Errorf("%s: the replica is %v, and the next life must begin if its pod is of the former one", name, r.State)
		}
	}
}

// What a pod's processes are the lives of, as logs need to know.
func TestLivesOfAPod(t *testing.T) {
	told := `{"life":"2-0","from":"1-0","process":"containerd://a"}`
	old, next, before := state.Life{Attempt: 1}, state.Life{Attempt: 2}, state.Life{Attempt: 1, Replacement: 1}
	after := func(id, last string) corev1.ContainerStatus {
		c := process(id, ready("main"))
		c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ContainerID: last}
		return c
	}
	for name, c := range map[string]struct {
		told string
		is   corev1.ContainerStatus
		want state.Lives
	}{
		"its old process runs":                    {told, process("containerd://a", ready("main")), state.Lives{Runs: old, Before: old, Next: next}},
		"no process is there":                     {told, process("", ready("main")), state.Lives{Runs: old, Before: old, Next: next}},
		"its new process runs":                    {told, after("containerd://b", "containerd://a"), state.Lives{Runs: next, Before: old, Next: next}},
		"the kubelet has begun that one again":    {told, after("containerd://c", "containerd://b"), state.Lives{Runs: next, Before: next, Next: next}},
		"it was never told, and is by its name":   {`{"life":"1-1"}`, process("containerd://a", ready("main")), state.Lives{Runs: before, Before: before, Next: before}},
		"it is not made for restarts in place":    {"", process("containerd://a", ready("main")), state.Lives{Runs: before, Before: before, Next: before}},
		"an end before that nobody knows by name": {told, process("containerd://b", ready("main")), state.Lives{Runs: next, Before: old, Next: next}},
	} {
		pod := builder.Pod(builder.Job("j", builder.Workers(1)), state.Slot{Role: v1alpha1.Worker}, before, corev1.PodRunning, containers(c.is), tells(c.told))
		if slot, got, ok := state.LivesOf("j", pod); got != c.want || slot.Role != v1alpha1.Worker || !ok {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if _, _, ok := state.LivesOf("other", builder.Pod(builder.Job("j", builder.Workers(1)), state.Slot{Role: v1alpha1.Worker}, before, corev1.PodRunning)); ok {
		t.Error("a pod of another job has lives")
	}
}

func TestTheImageOfARestartInPlace(t *testing.T) {
	for name, c := range map[string]struct{ image, id, want string }{
		"a tag":                      {repository + ":v1", imageID, imageID},
		"a registry with a port":     {"registry.example:5000/train:v1", "registry.example:5000/train@" + digest, "registry.example:5000/train@" + digest},
		"Docker Hub's short names":   {"busybox", "docker.io/library/busybox@" + digest, "docker.io/library/busybox@" + digest},
		"a restart before":           {repository + ":life-1-0@" + digest, imageID, imageID},
		"as dockershim wrote it":     {repository + ":v1", "docker-pullable://" + imageID, imageID},
		"loaded without a registry":  {repository + ":v1", digest, ""},
		"of another repository":      {repository + ":v1", "mirror.example/train@" + digest, ""},
		"a name that cannot be read": {"Train", imageID, ""},
		"nothing known":              {repository + ":v1", "", ""},
	} {
		runs := process("containerd://a", ready("main"))
		runs.ImageID = c.id
		named := builder.Edit(func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = c.image })
		p, _ := state.PodOf("j", builder.Pod(builder.Job("j", builder.Workers(1)), state.Slot{Role: v1alpha1.Worker}, state.Life{}, corev1.PodRunning,
			containers(runs), tells(`{"life":"0-0"}`), named))
		if p.Image != c.want {
			t.Errorf("%s: %q, want %q", name, p.Image, c.want)
		}
	}
	if got, want := state.ImageFor(imageID, state.Life{Attempt: 3}), repository+":life-3-0@"+digest; got != want {
		t.Errorf("the image of attempt 3 is %q, want %q", got, want)
	}
}

func TestToldIsReadAsItIsWritten(t *testing.T) {
	told := state.Told{Life: state.Life{Attempt: 2}, From: state.Life{Attempt: 1, Replacement: 3}, Process: "containerd://a", Time: at(40 * second)}
	want := `{"life":"2-0","from":"1-3","process":"containerd://a","time":"` + builder.Epoch.Add(40*second).Format(time.RFC3339) + `"}`
	if told.String() != want {
		t.Errorf("written as %s, want %s", told, want)
	}
	if got := (state.Told{Life: state.Life{}}).String(); got != `{"life":"0-0"}` {
		t.Errorf("of a pod that was never told: %s", got)
	}
}

func TestWhichJobsKeepTheirPods(t *testing.T) {
	grace := func(seconds int64) builder.JobOption {
		return builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) { pod.TerminationGracePeriodSeconds = &seconds }))
	}
	method := func(m v1alpha1.RestartMethod) builder.JobOption {
		return builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = m })
	}
	generous := builder.Recovery(func(r *v1alpha1.Recovery) { r.TerminationGraceSeconds = ptr.To[int32](60) })
	declared := func(port int32) builder.JobOption {
		return builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) {
			pod.Containers[0].Ports = []corev1.ContainerPort{{Name: "pytorchjob-port", ContainerPort: port}}
		}))
	}
	probed := func(port int) builder.JobOption {
		return builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) {
			pod.Containers[0].LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(port)}}}
		}))
	}
	for name, c := range map[string]struct {
		framework v1alpha1.Framework
		options   []builder.JobOption
		want      bool
	}{
		"of a collective whose pods end soon":       {v1alpha1.PyTorch, []builder.JobOption{grace(5)}, true},
		"of another":                                {v1alpha1.JAX, []builder.JobOption{grace(0)}, true},
		"whose pods may take their time":            {v1alpha1.PyTorch, nil, false},
		"of which one may":                          {v1alpha1.PyTorch, []builder.JobOption{grace(5), builder.Leader(v1alpha1.Master)}, false},
		"as they would if they were deleted":        {v1alpha1.XGBoost, []builder.JobOption{generous}, true},
		"that is elastic":                           {v1alpha1.PyTorch, []builder.JobOption{grace(5), builder.Elastic(1, 3)}, false},
		"whose leader declares its port":            {v1alpha1.PyTorch, []builder.JobOption{grace(5), declared(29500)}, false},
		"whose leader is looked at there":           {v1alpha1.PyTorch, []builder.JobOption{grace(5), probed(29500)}, false},
		"whose leader is looked at elsewhere":       {v1alpha1.PyTorch, []builder.JobOption{grace(5), probed(8080)}, true},
		"whose ranks meet where they met before":    {v1alpha1.MPI, []builder.JobOption{grace(5)}, false},
		"whose framework nobody knows":              {v1alpha1.Custom, []builder.JobOption{grace(5)}, false},
		"whose framework nobody knows, if it wants": {v1alpha1.Custom, []builder.JobOption{method(v1alpha1.RestartInPlace)}, true},
		"of a collective that wants new pods":       {v1alpha1.PyTorch, []builder.JobOption{grace(5), method(v1alpha1.RestartRecreate)}, false},
	} {
		job := builder.Job("j", append([]builder.JobOption{builder.Framework(c.framework), builder.Workers(2)}, c.options...)...)
		if got := state.KeepsPods(job); got != c.want {
			t.Errorf("a job %s: %t", name, got)
		}
		for began, want := range map[v1alpha1.RestartMethod]bool{v1alpha1.RestartInPlace: true, v1alpha1.RestartRecreate: false} {
			job.Status.Memory.RestartMethod = began
			if got := state.KeepsPods(job); got != want {
				t.Errorf("a job %s, whose attempt began with %s: %t", name, began, got)
			}
		}
	}
}

// The operator deletes a pod that was evicted before its next process was seen, and it is gone at once. The new life has lost nothing, and its number may have
// been given to a process.
func TestAnEvictedPodThatIsGoneIsOfTheLifeBefore(t *testing.T) {
	told := tells(`{"life":"1-0","from":"0-0","process":"containerd://a","time":"2026-01-05T12:00:40Z"}`)
	gone := builder.SeenEnded("worker", 0, corev1.PodFailed, builder.RanBefore(), builder.Rejected("Evicted", "too much"), told, builder.DeletedAt(41*second))
	s := builder.Snapshot(builder.Job("j", builder.Workers(1), builder.Attempt(1), builder.StartedAt(0)), gone)
	if r := s.Replica(state.Slot{Role: v1alpha1.Worker}); r.State != state.Ending || r.Last != nil {
		t.Errorf("state %v, last %+v; want that it gets its next life", r.State, r.Last)
	}
}

// The status remembers starts of present lives alone. An evicted pod of a past life is of the life that it was last told to begin.
func TestAnEvictedPodOfAPastLifeKeepsThatLife(t *testing.T) {
	told := tells(`{"life":"1-0","from":"0-0","process":"containerd://a","time":"2026-01-05T12:00:40Z"}`)
	evicted := builder.Failed("worker", 0, builder.Life(0, 0), builder.RanBefore(), builder.Rejected("Evicted", "too much"), told)
	for attempt, want := range map[int32]int{1: 0, 2: 1} {
		s := builder.Snapshot(builder.Job("j", builder.Workers(1), builder.Attempt(attempt), builder.StartedAt(0)), evicted)
		if got := s.Pods[0].Life.Attempt; got != want {
			t.Errorf("in attempt %d the pod is of attempt %d, want %d", attempt, got, want)
		}
	}
}

// A kubelet that starts shows no containers for a moment. The life that the status remembers goes on.
func TestAKubeletThatStartsUndoesNoRestartInPlace(t *testing.T) {
	told := tells(`{"life":"1-0","from":"0-0","process":"containerd://a","time":"2026-01-05T12:00:40Z"}`)
	unknown := builder.Edit(func(pod *corev1.Pod) { pod.Status.ContainerStatuses = nil })
	for started, restarting := range map[string]bool{"0": false, "": true} {
		s := builder.Snapshot(builder.Job("j", builder.Workers(1), builder.Attempt(1), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: started})),
			builder.Running("worker", 0, builder.Life(0, 0), told, unknown))
		if p := s.Pods[0]; p.Restarting != restarting {
			t.Errorf("started %q: restarting %t, want %t", started, p.Restarting, restarting)
		}
	}
}
