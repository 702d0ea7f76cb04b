package transcript_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/transcript"
)

// TestReplay shows the versions of each recorded incident to the product, as they came, and compares what it makes of them with
// what truly happened.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			incident, err := transcript.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			r := newReplay(t, incident)
			for i := range incident.Versions {
				r.show(&incident.Versions[i])
			}
			if got := r.found(); !isWanted(got, incident.Want) {
				t.Errorf("%s\nfound  %s\nwanted %s", incident.Truth, got, incident.Want)
			}
		})
	}
}

// replay is an operator whose cluster is a recording: it decides and counts, and what it would do to pods is not done.
type replay struct {
	t    *testing.T
	job  *v1alpha1.TrainingJob
	pods map[string]*corev1.Pod
	// ending are the pods whose last version was told to end, lives those of a recorded name that the product has given another life.
	ending map[string]bool
	lives  map[string]state.Life
	// ends are when the product first saw each pod's end.
	ends map[types.UID]time.Time
	// notReady are the nodes that are not ready, and since when.
	notReady map[string]time.Duration
	now      time.Duration
	wake     time.Time
}

// newReplay returns a replay of the incident's job, written as "PyTorch Master=1 Worker=3".
func newReplay(t *testing.T, i *transcript.Incident) *replay {
	t.Helper()
	words := strings.Fields(i.Job)
	options := []builder.JobOption{builder.Framework(v1alpha1.Framework(words[0]))}
	for _, word := range words[1:] {
		name, count, _ := strings.Cut(word, "=")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatal(err)
		}
		if name == "startupDeadline" {
			options = append(options, builder.StartupDeadline(int32(n)))
			continue
		}
		options = append(options, builder.Replicas(builder.Role(strings.ToLower(name)), n))
	}
	r := &replay{
		t: t, job: builder.Job("j", options...), pods: map[string]*corev1.Pod{}, ending: map[string]bool{}, lives: map[string]state.Life{},
		ends: map[types.UID]time.Time{}, notReady: map[string]time.Duration{},
	}
	r.decide(0)
	return r
}

// show lets time pass until the version, and shows it.
func (r *replay) show(v *transcript.Version) {
	for !r.wake.IsZero() && r.wake.Sub(builder.Epoch) < v.At {
		r.decide(max(r.wake.Sub(builder.Epoch), r.now+time.Millisecond))
	}
	switch {
	case v.Node != "":
		r.notReady[v.Node] = v.At
	default:
		pod, err := v.Pod(r.job)
		if err != nil {
			r.t.Fatal(err)
		}
		if pod.DeletionTimestamp == nil && r.ending[v.Who] { // another pod of that name: the product makes the next one of its present life
			r.lives[v.Who] = r.snapshot().Life(v.Slot)
		}
		r.ending[v.Who] = pod.DeletionTimestamp != nil
		if life, isNext := r.lives[v.Who]; isNext {
			pod.Name = state.PodName(r.job.Name, v.Slot, life)
		}
		pod.CreationTimestamp = builder.Time(0)
		if r.waits() {
			pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = nil, nil
		}
		r.pods[v.Who] = pod
	}
	r.decide(v.At)
}

// waits reports whether the product has yet to act on a failure. The operator of the recording had acted by then: what it deleted
// is not deleted here.
func (r *replay) waits() bool {
	running := meta.FindStatusCondition(r.job.Status.Conditions, v1alpha1.ConditionRunning)
	return running != nil && running.Reason == v1alpha1.ReasonRestartHeld
}

// decide lets the product decide until it has nothing more to say.
func (r *replay) decide(now time.Duration) {
	r.now = now
	for range 10 {
		p := plan.Make(r.snapshot())
		r.wake = p.Wake
		if equality.Semantic.DeepEqual(r.job.Status, p.Status) {
			return
		}
		r.job.Status = p.Status
	}
	r.t.Fatalf("%v: the product does not come to rest", now)
}

func (r *replay) snapshot() *state.Snapshot {
	options := []builder.SnapshotOption{builder.Now(r.now)}
	for node, since := range r.notReady {
		options = append(options, builder.NodeLost(node, since.Truncate(time.Second)))
	}
	for _, name := range slices.Sorted(maps.Keys(r.pods)) {
		p, named := state.PodOf(r.job.Name, r.pods[name])
		if !named {
			r.t.Fatalf("%s is no pod of the job", name)
		}
		r.see(&p)
		options = append(options, func(o *state.Observed) { o.Pods = append(o.Pods, p) })
	}
	return builder.Snapshot(r.job, options...)
}

// see dates the pod's end by when the product first saw it, as an operator does: a kubelet may report no time.
func (r *replay) see(p *state.Pod) {
	if p.Exit == nil && p.Rejected.Reason == "" {
		return
	}
	if r.ends[p.UID].IsZero() {
		r.ends[p.UID] = builder.Epoch.Add(r.now)
	}
	p.EndSeen = r.ends[p.UID]
}

// found returns what the product has made of the recording, as testdata writes it.
func (r *replay) found() string {
	status := &r.job.Status
	pod := func(f *v1alpha1.Failure) string {
		return state.Slot{Role: f.Role, Index: int(f.Index)}.String()
	}
	switch f := status.LastFailure; {
	case meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionSucceeded):
		return "succeeded " + status.Reason
	case meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionFailed):
		return fmt.Sprintf("failed %s %s %s %s", status.Reason, f.Cause, f.Reason, pod(f))
	}
	var incidents []string
	for i := len(status.Incidents) - 1; i >= 0; i-- {
		n, charge := &status.Incidents[i], "free"
		if n.Charged {
			charge = "charged"
		}
		incidents = append(incidents, fmt.Sprintf("%s %s %s %s %s", n.Cause, n.Reason, pod(&n.Failure), n.Scope, charge))
	}
	if len(incidents) == 0 {
		return "nothing"
	}
	return strings.Join(incidents, "; ")
}

// isWanted compares word by word; a word that is wanted may be one of several.
func isWanted(found, wanted string) bool {
	return slices.EqualFunc(strings.Fields(found), strings.Fields(wanted), func(got, want string) bool {
		return slices.Contains(strings.Split(want, "|"), got)
	})
}
