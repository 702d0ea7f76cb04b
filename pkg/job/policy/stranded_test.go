package policy_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

// inPlace is a pod of attempt 0 that began attempt 1 in place.
func inPlace(index string) builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) {
		pod.Name = "j-worker-" + index
		pod.Annotations = map[string]string{v1alpha1.AnnotationInPlaceRestart: `{"life":"1-0","from":"0-0","process":"a","time":"2026-01-05T12:00:30Z"}`}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, ContainerID: "b",
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	})
}

// createdAt sets when, after Epoch, the pod was created.
func createdAt(at time.Duration) builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) { pod.CreationTimestamp = builder.Time(at) })
}

// A job whose pods must share a domain is recreated when one of them fits nowhere in the domain of the others. It would wait for
// ever beside an empty rack.
func TestAReplicaThatFitsNowhereInItsDomain(t *testing.T) {
	inRack := []builder.JobOption{pytorch, builder.Workers(3), builder.StartedAt(0), builder.Attempt(1), builder.Gang(v1alpha1.GangNative), builder.InDomain()}
	job := func(more ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append(inRack[:len(inRack):len(inRack)], more...)...)
	}
	now := builder.Now(60 * second)
	waits := func(since time.Duration, replacement int) builder.SnapshotOption {
		return builder.Pending("worker", 2, builder.Life(1, replacement), builder.UnschedulableSince(since, "0/8 nodes are available"))
	}
	replaced := builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "2:1"})
	anew := judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonReplicaLost, Restarts: []string{"worker-2 Infrastructure Job free"}}
	others := seen(now, builder.Running("worker", 0, builder.Life(1, 0)), builder.Running("worker", 1, builder.Life(1, 0)))
	check(t, []judgeCase{
		{"beside pods that went on from the attempt before", job(), seen(now, builder.Running("worker", 0, inPlace("0")), builder.Running("worker", 1, inPlace("1")), waits(20*second, 0)), anew},
		{"not before 30 s", job(), seen(now, builder.Running("worker", 0, inPlace("0")), builder.Running("worker", 1, inPlace("1")), waits(40*second, 0)), judged{Wake: 70 * second}},
		{"beside pods that stayed when it was replaced", job(replaced), append(others, waits(20*second, 1)), anew},
		{"beside pods that ran when its pod was created anew, as the one before was deleted before it ran", job(),
			seen(now, builder.Running("worker", 0, builder.Life(1, 0), builder.Began(10*second)), builder.Running("worker", 1, builder.Life(1, 0)),
				builder.Pending("worker", 2, builder.Life(1, 0), createdAt(15*second), builder.UnschedulableSince(20*second, "0/8 nodes are available"))), anew},
		{"beside them by a clock that is an hour ahead", job(),
			seen(now, builder.Running("worker", 0, builder.Life(1, 0), builder.Began(time.Hour)), builder.Running("worker", 1, builder.Life(1, 0)),
				builder.Pending("worker", 2, builder.Life(1, 0), createdAt(15*second), builder.UnschedulableSince(20*second, "0/8 nodes are available"))), anew},
		{"not beside those that the scheduler placed with it", job(), append(others, waits(20*second, 0)), judged{}},
		{"not of a job that runs", job(replaced, builder.Condition(v1alpha1.ConditionRunning, true, "", 0)), append(others, waits(20*second, 1)), judged{}},
		{"nor one that takes any domain", job(replaced, builder.Scheduling(func(s *v1alpha1.Scheduling) { s.Topology.Mode = v1alpha1.TopologyPreferred })),
			append(others, waits(20*second, 1)), judged{}},
		{"nor a replica that may be anywhere", job(replaced, builder.PS(1), builder.InDomain(v1alpha1.PS)), append(others, builder.Running("ps", 0, builder.Life(1, 0)), waits(20*second, 1)), judged{}},
	})
}
