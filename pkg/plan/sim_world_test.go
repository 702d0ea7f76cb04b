package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// place is one life of one slot: what a pod's name says.
type place struct {
	slot state.Slot
	life state.Life
}

// truePod is a pod as it is, and what the simulator alone knows of it.
type truePod struct {
	state.Pod
	owner types.UID
	// uncanny says that a process that was no leader any more created it, or a request that came late.
	uncanny bool
}

// world is the API server, the kubelets, the users: one job and its pods as they are. Caches show its history.
type world struct {
	rng  *rand.Rand
	now  time.Time
	rv   int
	uids int

	job  *v1alpha1.TrainingJob
	pods map[string]*truePod
	jobs []*v1alpha1.TrainingJob // every version of the job, for the caches
	past [][]truePod             // every version of the pods

	facts facts
	// tell, if set, hears the story.
	tell func(string)
}

func (w *world) say(format string, args ...any) {
	if w.tell != nil {
		w.tell(w.now.Sub(w.jobs[0].CreationTimestamp.Time).String() + " " + fmt.Sprintf(format, args...))
	}
}

// facts are what truly happened, for the checks.
type facts struct {
	// exits are the codes with which pods ended by themselves, lost the pods that ran and were taken away by others.
	exits map[place]int32
	lost  map[place]bool
	// outside counts how often somebody else than the operator deleted a pod.
	outside map[place]int
}

func newWorld(job *v1alpha1.TrainingJob, rng *rand.Rand) *world {
	w := &world{rng: rng, now: job.CreationTimestamp.Time, job: job, pods: map[string]*truePod{}, facts: noFacts()}
	w.writeJob(func(*v1alpha1.TrainingJob) {})
	w.podsChanged()
	return w
}

func noFacts() facts { return facts{map[place]int32{}, map[place]bool{}, map[place]int{}} }

// recreate deletes the job and creates it again under the same name: its pods are now the garbage collector's.
func (w *world) recreate() {
	w.say("user: delete the job and create it again")
	w.facts = noFacts()
	w.writeJob(func(job *v1alpha1.TrainingJob) {
		job.UID += "'"
		job.Generation, job.Status = 1, v1alpha1.TrainingJobStatus{}
	})
}

// second is the clock as Kubernetes writes it into objects.
func (w *world) second() time.Time { return w.now.Truncate(time.Second) }

// oneIn is true once in n times.
func (w *world) oneIn(n int) bool { return w.rng.IntN(n) == 0 }

func (w *world) writeJob(change func(*v1alpha1.TrainingJob)) {
	w.job = w.job.DeepCopy()
	change(w.job)
	w.rv++
	w.job.ResourceVersion = strconv.Itoa(w.rv)
	w.jobs = append(w.jobs, w.job)
}

// writeSpec is the user's hand.
func (w *world) writeSpec(change func(*v1alpha1.TrainingJobSpec)) {
	w.writeJob(func(job *v1alpha1.TrainingJob) {
		job.Generation++
		change(&job.Spec)
	})
	w.say("user: suspend %t, workers %d", w.job.Spec.Suspend, w.job.Spec.Replicas(v1alpha1.Worker))
}

// writeStatus stores the status as JSON would: times in whole seconds.
func (w *world) writeStatus(status *v1alpha1.TrainingJobStatus) {
	w.writeJob(func(job *v1alpha1.TrainingJob) {
		job.Status = *status.DeepCopy()
		for _, at := range []*metav1.Time{job.Status.StartTime, job.Status.RunningTime, job.Status.CompletionTime, job.Status.NextStartTime} {
			if at != nil {
				at.Time = at.Truncate(time.Second)
			}
		}
		if f := job.Status.FirstFailure; f != nil {
			f.Time = metav1.NewTime(f.Time.Truncate(time.Second))
		}
		for i := range job.Status.Conditions {
			at := &job.Status.Conditions[i].LastTransitionTime
			at.Time = at.Truncate(time.Second)
		}
	})
}

// sorted returns the pods by name, so that a seed always gives the same story.
func (w *world) sorted() []*truePod {
	var all []*truePod
	for _, p := range w.pods {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *truePod) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

func (w *world) podsChanged() {
	var version []truePod
	for _, p := range w.sorted() {
		version = append(version, *p)
	}
	w.past = append(w.past, version)
}

// createPod admits one pod of a name.
func (w *world) createPod(name string, owner types.UID, uncanny bool) {
	if w.pods[name] != nil {
		return
	}
	slot, life, _ := state.ParsePodName(w.job.Name, name)
	w.uids++
	w.pods[name] = &truePod{owner: owner, uncanny: uncanny, Pod: state.Pod{
		Name: name, UID: types.UID(strconv.Itoa(w.uids)), Slot: slot, Life: life, Phase: corev1.PodPending}}
	w.say("create %s, uncanny %t", name, uncanny)
	w.podsChanged()
}

// deletePod asks for the end of a pod, as the API server does: one that has ended or never had a node goes at once.
func (w *world) deletePod(p *truePod) {
	if p.Deleted.IsZero() {
		p.Deleted = w.second()
	}
	if !p.CanRun() || p.Node == "" {
		delete(w.pods, p.Name)
	}
	w.podsChanged()
}

// takeAway is somebody's hand, not the operator's: a drain, a preemption, kubectl delete, or the object is just gone.
func (w *world) takeAway(p *truePod) {
	where := place{p.Slot, p.Life}
	w.say("take away %s, %s", p.Name, p.Phase)
	if p.owner == w.job.UID {
		w.facts.outside[where]++
	}
	if p.owner == w.job.UID && p.HasStarted() && p.Phase != corev1.PodSucceeded {
		w.facts.lost[where] = true
	}
	switch w.rng.IntN(3) {
	case 0:
		delete(w.pods, p.Name)
		w.podsChanged()
	case 1:
		p.Disruption = state.Trouble{Reason: "EvictionByEvictionAPI", Time: w.second()}
		w.deletePod(p)
	default:
		w.deletePod(p)
	}
}

// exit ends a pod's process with a code.
func (w *world) exit(p *truePod, code int32) {
	w.say("exit %s with %d", p.Name, code)
	p.Phase, p.Ready, p.Finished = corev1.PodSucceeded, false, w.second()
	if code != 0 {
		p.Phase = corev1.PodFailed
		p.Exit = &state.Exit{Code: code, Reason: "Error", Time: w.second()}
	}
	if p.Deleted.IsZero() && p.owner == w.job.UID {
		w.facts.exits[place{p.Slot, p.Life}] = code
	}
	w.podsChanged()
}

// kubelet lets each pod live for a moment. A pod fails with the given probability, in percent; lazy is how slowly pods
// that were told to end do so.
func (w *world) kubelet(failing, lazy int) {
	for _, p := range w.sorted() {
		switch {
		case w.oneIn(3):
		case p.owner != w.job.UID && p.Deleted.IsZero():
			w.deletePod(p) // garbage collection
		case !p.CanRun():
			if !p.Deleted.IsZero() {
				delete(w.pods, p.Name)
				w.podsChanged()
			}
		case !p.Deleted.IsZero() && !w.oneIn(lazy):
		case !p.Deleted.IsZero() && p.Phase == corev1.PodRunning && !w.oneIn(3):
			w.exit(p, []int32{0, 1, 137, 143}[w.rng.IntN(4)])
		case !p.Deleted.IsZero():
			delete(w.pods, p.Name)
			w.podsChanged()
		case p.Phase == corev1.PodPending && p.Node == "":
			p.Node = "node"
			w.podsChanged()
		case p.Phase == corev1.PodPending:
			p.Phase, p.Ready = corev1.PodRunning, true
			w.podsChanged()
		default:
			w.work(p, failing)
		}
	}
}

// work ends a pod that runs, perhaps.
func (w *world) work(p *truePod, failing int) {
	switch {
	case w.rng.IntN(100) < failing:
		codes := []int32{1, 137, 137, 139, 143, 255}
		if w.oneIn(12) {
			codes = []int32{126, 127, 93}
		}
		w.exit(p, codes[w.rng.IntN(len(codes))])
	case w.rng.IntN(60) < 1 || failing == 0 && w.oneIn(4):
		w.exit(p, 0)
	}
}
