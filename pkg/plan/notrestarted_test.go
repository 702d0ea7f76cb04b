package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/test/builder"
)

// remembers says that the pod was given up on the node at that time.
func remembers(pod, node string, at time.Duration) builder.JobOption {
	return builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.Memory.NotRestarted = append(s.Memory.NotRestarted, v1alpha1.NotRestarted{Pod: pod, Node: node, Time: builder.Time(at)})
	})
}

func TestTwoPodsInARowThatDoNotRestartAreTheirNodesStrike(t *testing.T) {
	told := func(process string) string {
		return `{"life":"1-0","from":"0-0","process":"` + process + `","time":"` + builder.Epoch.Add(10*second).Format(time.RFC3339) + `"}`
	}
	a := builder.On("a")
	stuck0, stuck2 := restartable(0, told("x"), "x", a), restartable(2, told("z"), "z", a)
	back1 := restartable(1, told("y"), "y2", a)
	ttl := func(seconds int32) builder.JobOption {
		return builder.Recovery(func(r *v1alpha1.Recovery) { r.AvoidNodesSeconds = &seconds })
	}
	const due = 55 * second
	cases := []struct {
		name       string
		job        *v1alpha1.TrainingJob
		pods       []builder.SnapshotOption
		remembered []string
		avoided    []string
	}{
		{"not yet", inAttempt1(), seen(stuck2, builder.Now(due-second)), nil, nil},
		{"one is remembered", inAttempt1(), seen(stuck2, builder.Now(due)), []string{"j-worker-2 on a"}, nil},
		{"once", inAttempt1(remembers("j-worker-2", "a", due)), seen(stuck2, builder.Now(due+second)), []string{"j-worker-2 on a"}, nil},
		{"two at once", inAttempt1(), seen(stuck0, stuck2, builder.Now(due)), []string{"j-worker-0 on a", "j-worker-2 on a"}, []string{"a: 1, NotRestarted, 24h0m55s"}},
		{"the second in a row", inAttempt1(remembers("j-worker-1", "a", 5*second)), seen(stuck2, builder.Now(due)),
			[]string{"j-worker-1 on a", "j-worker-2 on a"}, []string{"a: 1, NotRestarted, 24h0m55s"}},
		{"on another node", inAttempt1(remembers("j-worker-1", "b", 5*second)), seen(stuck2, builder.Now(due)), []string{"j-worker-1 on b", "j-worker-2 on a"}, nil},
		{"one there has restarted in between", inAttempt1(remembers("j-worker-1", "a", 5*second)), seen(back1, stuck2, builder.Now(due)), []string{"j-worker-2 on a"}, nil},
		{"one there has restarted since", inAttempt1(remembers("j-worker-2", "a", 5*second)), seen(back1, builder.Now(20*second)), nil, nil},
		{"one there had restarted before", inAttempt1(remembers("j-worker-2", "a", 10*second)), seen(back1, builder.Now(20*second)), []string{"j-worker-2 on a"}, nil},
		{"a new pod there proves nothing", inAttempt1(remembers("j-worker-2", "a", 5*second)),
			seen(builder.Running("worker", 2, a, builder.Life(1, 0), builder.Edit(func(pod *corev1.Pod) { pod.CreationTimestamp = builder.Time(20 * second) })), builder.Now(30*second)), []string{"j-worker-2 on a"}, nil},
		{"long ago", inAttempt1(remembers("j-worker-1", "a", 5*second), ttl(50)), seen(stuck2, builder.Now(due)), []string{"j-worker-2 on a"}, nil},
		{"a job that avoids none", inAttempt1(ttl(0)), seen(stuck0, stuck2, builder.Now(due)), nil, nil},
		{"the node has struck before", inAttempt1(remembers("j-worker-1", "a", 5*second), builder.Avoided("a", time.Minute)), seen(stuck2, builder.Now(due)),
			[]string{"j-worker-1 on a", "j-worker-2 on a"}, []string{"a: 2, NotRestarted, 24h0m55s"}},
		{"a third adds nothing", inAttempt1(remembers("j-worker-0", "a", 5*second), remembers("j-worker-1", "a", 6*second)), seen(stuck2, builder.Now(due)),
			[]string{"j-worker-0 on a", "j-worker-1 on a"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status := plan.Make(builder.Snapshot(c.job, c.pods...)).Status
			var remembered, avoided []string
			for _, n := range status.Memory.NotRestarted {
				remembered = append(remembered, n.Pod+" on "+n.Node)
			}
			for _, n := range status.AvoidedNodes {
				avoided = append(avoided, fmt.Sprintf("%s: %d, %s, %v", n.Name, n.Strikes, n.Reason, n.Until.Sub(builder.Epoch)))
			}
			if diff := cmp.Diff(c.remembered, remembered); diff != "" {
				t.Errorf("remembered (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.avoided, avoided); diff != "" {
				t.Errorf("avoided (-want +got):\n%s", diff)
			}
		})
	}
}

// What is remembered of a pod is written before the pod is deleted, even if the status was written a moment ago: else a crash in between
// would forget it.
func TestAPodThatDidNotRestartIsRememberedBeforeItIsDeleted(t *testing.T) {
	told := `{"life":"1-0","from":"0-0","process":"z","time":"` + builder.Epoch.Add(10*second).Format(time.RFC3339) + `"}`
	job := after(t, builder.Snapshot(inAttempt1(), restartable(2, told, "z"), builder.Now(54*second)))
	p := plan.Make(builder.Snapshot(job, restartable(2, told, "z"), builder.Recorded(54*second), builder.Now(55*second)))
	deletes := slices.ContainsFunc(p.Steps, func(step plan.Step) bool {
		d, is := step.(plan.DeletePod)
		return is && d.Why == plan.WhyNotRestarted
	})
	if !deletes || len(p.Status.Memory.NotRestarted) != 1 {
		t.Errorf("%v; remembered %v", p, p.Status.Memory.NotRestarted)
	}
}
