//go:build chaos

package chaos

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// past makes an account of a job from how its pods ended: "worker-0 failed", "worker-0-a0r1 lost".
func past(p *play, status v1alpha1.TrainingJobStatus, pods ...string) (*account, func(*corev1.Pod) bool) {
	a := &account{job: p.job.DeepCopy(), byUID: map[types.UID]*entry{}}
	a.job.Status = status
	lost := map[types.UID]bool{}
	for _, text := range pods {
		name, end, _ := strings.Cut(text, " ")
		e := &entry{pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.job.Name + "-" + name, UID: types.UID(text)}}}
		e.life, _ = ledger.LifeOf(p.job.Name, e.pod.Name)
		switch end {
		case "failed":
			e.fate = exited
		case "lost":
			e.fate, lost[e.pod.UID] = removed, true
		case "removed":
			e.fate = removed
		default:
			e.fate = outlived
		}
		a.pods = append(a.pods, e)
	}
	return a, func(pod *corev1.Pod) bool { return lost[pod.UID] }
}

func counted(phase v1alpha1.Phase, attempt, restarts, charged int32) v1alpha1.TrainingJobStatus {
	return v1alpha1.TrainingJobStatus{Phase: phase, Attempt: attempt, Restarts: restarts, ChargedRestarts: charged}
}

// TestAccounts shows that the counts can be wrong: each status but the first of a kind is.
func TestAccounts(t *testing.T) {
	one := []string{"master-0", "worker-0", "worker-1 failed", "worker-1-a0r1 lost", "worker-1-a0r2"}
	all := []string{"master-0 removed", "worker-0 removed", "worker-1 failed", "worker-2 failed", "master-0-a1r0", "worker-0-a1r0", "worker-1-a1r0", "worker-2-a1r0"}
	both := append([]string{"master-0 lost"}, all[1:]...)
	for name, c := range map[string]struct {
		play   *play
		status v1alpha1.TrainingJobStatus
		pods   []string
		want   string
	}{
		"one failed, one lost":        {replaced("j"), counted("Succeeded", 0, 2, 1), one, ""},
		"one not counted":             {replaced("j"), counted("Succeeded", 0, 1, 1), one, "status.restarts is 1, and 2 restarts were called for"},
		"one counted twice":           {replaced("j"), counted("Succeeded", 0, 3, 1), one, "status.restarts is 3"},
		"the lost one charged":        {replaced("j"), counted("Succeeded", 0, 2, 2), one, "status.chargedRestarts is 2, and it should be 1 to 1"},
		"no verdict":                  {replaced("j"), counted("Running", 0, 2, 1), one, "it is Running, and should be Succeeded"},
		"a pod too many":              {replaced("j"), counted("Succeeded", 0, 2, 1), append(one[:5:5], "worker-1-a0r3"), "6 pods were made for 3 replicas, 2 restarts"},
		"a pod made twice":            {replaced("j"), counted("Succeeded", 0, 2, 1), append(one[:4:4], "worker-1-a0r1 again"), "worker-1-a0r1 was made twice"},
		"two failed in one attempt":   {restarted("j"), counted("Succeeded", 1, 1, 1), all, ""},
		"each of them counted":        {restarted("j"), counted("Succeeded", 1, 2, 2), all, "status.restarts is 2, and 1 restarts"},
		"an attempt without pods":     {restarted("j"), counted("Succeeded", 2, 2, 2), all, "status.attempt is 2"},
		"failed or lost first":        {restarted("j"), counted("Succeeded", 1, 1, 0), both, ""},
		"failed first, not charged":   {restarted("j"), counted("Succeeded", 1, 1, 0), all, "status.chargedRestarts is 0"},
		"the last failure ends it":    {doomed("j"), counted("Failed", 0, 3, 3), []string{"master-0", "worker-0 failed", "worker-0-a0r1 failed", "worker-0-a0r2 failed", "worker-0-a0r3 failed"}, ""},
		"it fails a failure too soon": {doomed("j"), counted("Failed", 0, 2, 2), []string{"master-0", "worker-0 failed", "worker-0-a0r1 failed", "worker-0-a0r2 failed"}, "it was to fail with number 4"},
	} {
		t.Run(name, func(t *testing.T) {
			a, wasLost := past(c.play, c.status, c.pods...)
			found := strings.Join(c.play.faults(a, wasLost), "\n")
			if (c.want == "") != (found == "") || !strings.Contains(found, c.want) {
				t.Errorf("want %q, found %q", c.want, found)
			}
		})
	}
}

// TestLeases shows that a write after the end of a lease is found, and that a lease which the API server refused is none.
func TestLeases(t *testing.T) {
	start := time.Now()
	renewal := func(after time.Duration, code int) *testbed.Request {
		r := &testbed.Request{Verb: "update", Answered: start.Add(after)}
		r.ObjectRef.Resource, r.ResponseStatus.Code = "leases", code
		return r
	}
	got := leaseOf([]*testbed.Request{renewal(0, 200), renewal(time.Second, 200), renewal(2*time.Second, 409)})
	if want := start.Add(time.Second + leaseDuration); !got.Equal(want) {
		t.Errorf("the lease ran out %s after the start, want %s", got.Sub(start), want.Sub(start))
	}
}

// TestFates shows that a pod's fate is told by the first version that has it.
func TestFates(t *testing.T) {
	version := func(phase corev1.PodPhase, deleted bool, exitCode int32) ledger.Observation {
		pod := &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
		if deleted {
			pod.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		}
		state := corev1.ContainerState{}
		if exitCode >= 0 {
			state.Terminated = &corev1.ContainerStateTerminated{ExitCode: exitCode}
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: state}}
		return ledger.Observation{Event: watch.Modified, Pod: pod}
	}
	const running, failed = corev1.PodRunning, corev1.PodFailed
	for name, c := range map[string]struct {
		first ledger.Observation
		want  fate
	}{
		"it runs":                              {version(running, false, -1), alive},
		"its containers have failed":           {version(running, false, 1), exited},
		"its containers have succeeded":        {version(running, false, 0), succeeded},
		"it is being deleted":                  {version(running, true, -1), alive},
		"it has ended because it is deleted":   {version(failed, true, 143), removed},
		"it has obeyed its deletion with 0":    {version(running, true, 0), removed},
		"it has failed before it has run once": {version(failed, false, -1), exited},
	} {
		if got := fateOf(c.first, false); got != c.want {
			t.Errorf("%s: its fate is %q, want %q", name, got, c.want)
		}
	}
	if got := fateOf(version(running, false, 1), true); got != outlived {
		t.Errorf("after the job's end its fate is %q, want %q", got, outlived)
	}
}
