package plan_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

// A warm spare becomes a replica that breaks while others stay in their pods, and which it is, is in the status before the pod is told.
func TestWhoBeginsInAWarmSpare(t *testing.T) {
	alone := func(r *v1alpha1.ReplicaSpec) { r.RestartScope = v1alpha1.ScopeReplica }
	base := func(options ...builder.JobOption) []builder.JobOption {
		return append([]builder.JobOption{pytorch, builder.Workers(3, builder.WarmSpares(1))}, options...)
	}
	single := base(builder.Of(v1alpha1.Worker, alone))
	inPlace := base(builder.Recovery(func(r *v1alpha1.Recovery) { r.Restart = v1alpha1.RestartInPlace }))
	anew := base(builder.Recovery(func(r *v1alpha1.Recovery) { r.Restart = v1alpha1.RestartRecreate }))
	spare := builder.WarmSpare("worker", 0)
	well := seen(restartable(0, "", "a"), restartable(1, "", "b"), restartable(2, "", "c"))
	broken := func(index int, more ...builder.SnapshotOption) []builder.SnapshotOption {
		pods := seen(restartable(0, "", "a"), restartable(1, "", "b"), restartable(2, "", "c"))
		pods[index] = builder.Failed("worker", index, builder.Exit(1), builder.At(15*second))
		return append(pods, more...)
	}
	native := ganged(state.Group{Name: "j-0", Minimum: 3})
	cases := []struct {
		name string
		job  []builder.JobOption
		seen []builder.SnapshotOption
		want string
	}{
		{"one that restarts alone", single, broken(1, spare), "1:j-worker-spare-0"},
		{"one that others wait for in place", inPlace, broken(1, spare), "1:j-worker-spare-0"},
		{"none if all pods are created anew", anew, broken(1, spare), ""},
		{"none that is found by its name", single, broken(0, spare), ""},
		{"none if no spare waits yet", single, broken(1, builder.WarmSpare("worker", 0, builder.Edit(func(p *corev1.Pod) { p.Status.InitContainerStatuses = nil }))), ""},
		{"none in a placeholder", single, broken(1, builder.Spare("worker", 0)), ""},
		{"none in one that is going", single, broken(1, builder.WarmSpare("worker", 0, builder.DeletedAt(10*second))), ""},
		{"none in one that is being evicted", single, broken(1, builder.WarmSpare("worker", 0, builder.Disrupted("EvictionByEvictionAPI", 5*second))), ""},
		{"none on a lost node", single, broken(1, spare, builder.NodeLost("node-worker-0", 0), restartable(0, "", "a", builder.On("elsewhere"))), ""},
		{"none in one that the API server says is gone", single, broken(1, spare, func(o *state.Observed) { o.Withdrawn = map[string]bool{"j-worker-spare-0": true} }), ""},
		{"none of a native gang, which no pod that runs can join", single, broken(1, spare, native, func(o *state.Observed) { o.Gang.Scheduler = v1alpha1.GangNative }), ""},
		{"the second that waits, if the first does not", base(builder.Of(v1alpha1.Worker, alone, builder.WarmSpares(2))),
			broken(2, builder.WarmSpare("worker", 0, builder.DeletedAt(10*second)), builder.WarmSpare("worker", 1)), "2:j-worker-spare-1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := underWay(t, takenOn(t, c.job...), well...)
			p := plan.Make(builder.Snapshot(job, append(c.seen, builder.Now(20*second))...))
			if got := p.Status.Memory.Roles[v1alpha1.Worker].Promoted; got != c.want {
				t.Errorf("promoted %q, want %q: %v", got, c.want, p)
			}
			if p.Status.Restarts != 1 || len(p.Steps) != 0 {
				t.Errorf("%d restarts, steps %v before they are recorded", p.Status.Restarts, p.Steps)
			}
		})
	}
}

func TestTheStepsOfAPromotion(t *testing.T) {
	alone := func(r *v1alpha1.ReplicaSpec) { r.RestartScope = v1alpha1.ScopeReplica }
	job := func(promoted string, options ...builder.JobOption) *v1alpha1.TrainingJob {
		memory := v1alpha1.RoleMemory{Started: "0,2", Replacements: "1:1", Promoted: promoted, Promotions: 1}
		return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(3, builder.WarmSpares(1), alone), builder.StartedAt(0),
			builder.Remember(v1alpha1.Worker, memory)}, options...)...)
	}
	two := func(more ...builder.SnapshotOption) []builder.SnapshotOption {
		return append(seen(builder.Running("worker", 0), builder.Running("worker", 2)), more...)
	}
	told := builder.Edit(func(pod *corev1.Pod) {
		pod.Name = "j-worker-spare-0"
		pod.Annotations = map[string]string{v1alpha1.AnnotationTold: `{"life":"0-1","slot":"worker-1","time":"2026-01-01T00:00:00Z"}`}
	})
	const promotion, create = "promote j-worker-spare-0 to worker-1", "create j-worker-1-a0r1"
	spare := builder.WarmSpare("worker", 0)
	checkSteps(t, []stepCase{
		{"it is told", job("1:j-worker-spare-0"), two(spare), []string{promotion}, 0},
		{"also if nobody sees it: the API server is asked", job("1:j-worker-spare-0"), two(), []string{promotion}, 0},
		{"no other replica is", job(""), two(spare), []string{create}, 0},
		{"not while the pod before can act", job("1:j-worker-spare-0"), two(spare, builder.Deleted("worker", 1, builder.Life(0, 0), builder.DeletedAt(50*second))), nil, 65 * second},
		{"not before its time", job("1:j-worker-spare-0", builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.NextStartTime = builder.TimePtr(70 * second) })),
			two(spare), nil, 70 * second},
		{"once it is the replica, another spare comes, with another name", job("1:j-worker-spare-0"), two(builder.Pending("worker", 1, told, builder.On("node-x"))), []string{"create j-worker-spare-0-p1"}, 0},
		{"one that runs unasked goes", job(""), two(builder.Running("worker", 1), builder.WarmSpare("worker", 0, builder.Edit(func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }))),
			[]string{"delete j-worker-spare-0: a spare is not needed, or makes way"}, 0},
		{"a placeholder makes room for a warm one", job(""), two(builder.Running("worker", 1), builder.Spare("worker", 0)),
			[]string{"delete j-worker-spare-0: a spare is not needed, or makes way"}, 0},
	})
}

// A replica that began in a warm spare stays what it is when it goes on in its pod.
func TestAPromotedReplicaRestartsInPlace(t *testing.T) {
	spare := builder.Edit(func(pod *corev1.Pod) {
		pod.Name = "j-worker-spare-0"
		pod.Annotations[v1alpha1.AnnotationTold] = `{"life":"0-0","slot":"worker-1","time":"2026-01-01T00:00:00Z"}`
	})
	job := inAttempt1()
	p := plan.Make(builder.Snapshot(job, restartable(1, "", "b", spare), builder.Now(20*second)))
	if len(p.Steps) != 1 {
		t.Fatalf("steps %v", p.Steps)
	}
	step, _ := p.Steps[0].(plan.RestartPod)
	want := `{"life":"1-0","from":"0-0","process":"b","slot":"worker-1","time":"` + builder.Epoch.Add(20*second).Format("2006-01-02T15:04:05Z07:00") + `"}`
	if step.Name != "j-worker-spare-0" || step.Told.String() != want {
		t.Errorf("%s is told %s, not %s", step.Name, step.Told, want)
	}
}

// A spare of which the API server says that it can become no replica costs the replica a life, and nobody a restart.
func TestAPromotionThatCannotBe(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2, builder.WarmSpares(1)), builder.StartedAt(0),
		builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "0", Replacements: "1:1", Promoted: "1:j-worker-spare-0", Promotions: 1}))
	p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), func(o *state.Observed) { o.Withdrawn = map[string]bool{"j-worker-spare-0": true} }))
	m := p.Status.Memory.Roles[v1alpha1.Worker]
	if m.Promoted != "" || m.Replacements != "1:2" || p.Status.Restarts != 0 || len(p.Steps) != 0 {
		t.Errorf("memory %+v, %d restarts, steps %v", m, p.Status.Restarts, p.Steps)
	}
}

// One that fails while it should wait is told with its container's words: an image without a shell is the user's to know.
func TestAWarmSpareThatFailsIsTold(t *testing.T) {
	failed := builder.WarmSpare("worker", 0, builder.Edit(func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodFailed
		pod.Status.InitContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 128, Reason: "StartError", Message: `exec: "/bin/sh": no such file or directory`}}
	}))
	job := builder.Job("j", pytorch, builder.Workers(2, builder.WarmSpares(1)), builder.StartedAt(0))
	p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.Running("worker", 1), failed))
	var told []string
	for _, e := range p.Events {
		if e.Reason == v1alpha1.EventSpareFailed {
			told = append(told, e.Message)
		}
	}
	want := `The container trainingjob-await of the warm spare j-worker-spare-0 exited with code 128 (StartError): exec: "/bin/sh": no such file or directory`
	if len(told) != 1 || told[0] != want {
		t.Errorf("told %q, want %q", told, want)
	}
}

// What the spare is told is what the pod would have had that it takes the place of.
func TestWhatAWarmSpareIsTold(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(3, builder.WarmSpares(1)), builder.StartedAt(0))
	at := &plan.Placement{}
	slot, life := state.Slot{Role: v1alpha1.Worker, Index: 1}, state.Life{Replacement: 1}
	replica := plan.Pods(job)(plan.CreatePod{Slot: slot, Life: life, Placement: at})
	spare := plan.Pods(job)(plan.CreatePod{Name: "j-worker-spare-0", Slot: state.Slot{Role: v1alpha1.Worker}, Spare: true, Placement: at})
	labels, annotations := plan.Promotion(job, plan.PromotePod{Name: spare.Name, Slot: slot, Life: life, Time: builder.Epoch, Placement: at})
	for name, value := range replica.Labels {
		if labels[name] != value {
			t.Errorf("label %s is %q, not %q", name, labels[name], value)
		}
	}
	if want := `{"life":"0-1","slot":"worker-1","time":"` + builder.Epoch.Format("2006-01-02T15:04:05Z07:00") + `"}`; annotations[v1alpha1.AnnotationTold] != want {
		t.Errorf("told %s, not %s", annotations[v1alpha1.AnnotationTold], want)
	}
	read := func(v corev1.EnvVar, labels, annotations map[string]string) string {
		if v.ValueFrom == nil {
			return v.Value
		}
		path := v.ValueFrom.FieldRef.FieldPath
		if name, isLabel := strings.CutPrefix(path, "metadata.labels['"); isLabel {
			return labels[strings.TrimSuffix(name, "']")]
		}
		return annotations[strings.TrimSuffix(strings.TrimPrefix(path, "metadata.annotations['"), "']")]
	}
	env := spare.Spec.Containers[0].Env
	if len(env) == 0 || len(env) != len(replica.Spec.Containers[0].Env) {
		t.Fatalf("%d variables, not %d", len(env), len(replica.Spec.Containers[0].Env))
	}
	for i, v := range replica.Spec.Containers[0].Env {
		want, got := read(v, replica.Labels, replica.Annotations), read(env[i], labels, annotations)
		if env[i].Name != v.Name || got != want {
			t.Errorf("%s is %q, not %s %q", env[i].Name, got, v.Name, want)
		}
	}
}
