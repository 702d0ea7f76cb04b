//go:build nodes

package incidents

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

const (
	stormJobs  = 4
	stormRanks = 4
	// calmRestarts is how many times each job restarts between two faults.
	calmRestarts = 4
	// storms is the label of the specs that take long.
	storms = "storm"
)

// storm is several jobs beside each other that restart in place again and again, and what is known of that.
type storm struct {
	diaries diaries
	jobs    []*stormJob
	chance  *rand.Rand

	lock sync.Mutex
	took map[string][]time.Duration
}

// stormJob is one of the jobs, with its own dice: they restart at the same time.
type stormJob struct {
	*job
	chance *rand.Rand
	// kept and made are how many ranks went on in their pods and how many got other ones, without a fault and in all; killed is how often a rank
	// was killed, and disturbed are the attempts that may have begun during a fault.
	kept, made, keptAmidst, madeAmidst int
	killed                             int32
	disturbed                          map[string]bool
}

// A thousand restarts in place and more, begun by a request or the kill of a rank, with a fault in between every few. That no two processes
// of a rank lived together, that each was started once for each attempt, and that the last attempt runs, is what the processes say.
var _ = Describe("A storm of restarts in place", Serial, Label(storms), func() {
	It("starts every rank once each time, and never has two processes of one", func(ctx SpecContext) {
		s := beginStorm(ctx)
		faults := slices.Sorted(maps.Keys(stormFaults))
		var order []string
		for began := time.Now(); s.restarts() < *restarts; {
			s.calm(ctx)
			if len(order) == 0 {
				order = slices.Clone(faults)
				s.chance.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			}
			s.disturb(ctx, order[0])
			order = order[1:]
			s.holdsDiaries()
			GinkgoWriter.Printf("%s: %d restarts after %s\n", time.Now().UTC().Format(time.TimeOnly), s.restarts(), time.Since(began).Round(time.Second))
		}
		AddReportEntry(CurrentSpecReport().LeafNodeText, s.String())
	})

	It("would notice two processes of a rank", func(ctx SpecContext) {
		folder, keepDiary := newDiaries()
		train := submit(ctx, apart(1), keepDiary)
		train.runs(ctx, 0)
		Eventually(folder.allRun).WithArguments(train.name, 1, int32(0)).Should(BeTrue())
		second, end := context.WithCancel(ctx)
		defer end()
		go output(second, "exec", train.pod(ctx, 0).Name, "--", "/program")
		Eventually(func() (int, error) {
			_, overlaps, err := folder.starts(workerName(train.name, 0))
			return overlaps, err
		}).Should(Equal(1))
	})
})

// beginStorm submits the jobs: in one of them ranks ignore SIGTERM and have two seconds.
func beginStorm(ctx context.Context) *storm {
	GinkgoHelper()
	folder, keepDiary := newDiaries()
	seed := uint64(GinkgoRandomSeed())
	s := &storm{diaries: folder, chance: rand.New(rand.NewPCG(seed, 0)), took: map[string][]time.Duration{}}
	for i := range stormJobs {
		made := apart(stormRanks)
		made.Name = fmt.Sprintf("storm-%d", i)
		options := []builder.JobOption{keepDiary, builder.MaxRestarts(1000)}
		if i == 0 {
			options = append(options, variable("TERM_CODE", "ignore"), everyPod(func(pod *corev1.PodSpec) { pod.TerminationGracePeriodSeconds = ptr.To[int64](2) }))
		}
		one := &stormJob{job: submit(ctx, made, options...), chance: rand.New(rand.NewPCG(seed, uint64(i)+1)), disturbed: map[string]bool{}}
		s.jobs = append(s.jobs, one)
	}
	for _, j := range s.jobs {
		j.runs(ctx, 0)
	}
	return s
}

// restarts is how often the jobs have restarted so far.
func (s *storm) restarts() int {
	n := 0
	for _, j := range s.jobs {
		n += int(j.seen.Status.Attempt)
	}
	return n
}

// together does something with all jobs at once.
func (s *storm) together(do func(*stormJob)) {
	GinkgoHelper()
	var group sync.WaitGroup
	for _, j := range s.jobs {
		group.Go(func() {
			defer GinkgoRecover()
			do(j)
		})
	}
	group.Wait()
}

// calm restarts each job some times; nothing else happens, so that all there is to know of it must be as promised.
func (s *storm) calm(ctx context.Context) {
	GinkgoHelper()
	s.together(func(j *stormJob) {
		for range calmRestarts {
			was, charged := j.seen.Status.Attempt, j.seen.Status.ChargedRestarts
			before := j.processes(ctx, stormRanks)
			broken := j.begins(ctx)
			took := j.runs(ctx, was+1)
			after := j.processes(ctx, stormRanks)
			for rank := range stormRanks {
				switch {
				case before[rank].gate == v1alpha1.GateOpen: // it may have ended before its gate was closed
				case rank == broken && before[rank].gate == "":
					Expect(after[rank].pod).NotTo(Equal(before[rank].pod), "%s: rank %d was killed and has another pod", j.name, rank)
				case !before[rank].digested: // it began when its image was back under its tag and not yet by digest
					Expect(after[rank].pod).NotTo(Equal(before[rank].pod), "%s: rank %d, whose image is known by no digest, has another pod", j.name, rank)
				default:
					Expect(after[rank].pod).To(Equal(before[rank].pod), "%s: rank %d goes on in its pod in attempt %d", j.name, rank, was+1)
				}
			}
			kind := "by request"
			if broken >= 0 {
				kind = "by a kill"
				charged++
			}
			Expect(j.seen.Status.ChargedRestarts).To(Equal(charged), "%s: attempt %d, begun %s", j.name, was+1, kind)
			Eventually(s.diaries.allRun).WithArguments(j.name, stormRanks, was+1).Should(BeTrue(), "%s: all ranks live and have started in attempt %d", j.name, was+1)
			if j.name == "storm-0" {
				kind += ", SIGTERM ignored"
			}
			j.count(podsOf(before), podsOf(after), &j.kept, &j.made)
			s.lock.Lock()
			s.took[kind] = append(s.took[kind], took)
			s.lock.Unlock()
		}
	})
}

// disturb restarts each job once, makes a fault while they do, mends it, and waits until all jobs run again for good.
func (s *storm) disturb(ctx context.Context, name string) {
	GinkgoHelper()
	fault := stormFaults[name]
	node := fmt.Sprintf("real-%d", s.chance.IntN(2))
	GinkgoWriter.Printf("%s: %s, %s\n", time.Now().UTC().Format(time.TimeOnly), name, node)
	before, was := map[string][]types.UID{}, map[string]int32{}
	for _, j := range s.jobs {
		before[j.name], was[j.name] = j.pods(ctx), j.seen.Status.Attempt
	}
	if fault.before != nil {
		fault.before(ctx, node)
	}
	s.together(func(j *stormJob) { j.begins(ctx) })
	pause := time.Duration(s.chance.IntN(1500)) * time.Millisecond
	time.Sleep(pause) // the fault comes at any moment of the restarts
	began := time.Now()
	fault.during(ctx, s, node)
	s.together(func(j *stormJob) {
		s.settles(ctx, j, was[j.name])
		for n := was[j.name]; n <= j.seen.Status.Attempt; n++ {
			j.disturbed[attempt(n)] = true
		}
		j.count(before[j.name], j.pods(ctx), &j.keptAmidst, &j.madeAmidst)
		Expect(j.seen.Status.ChargedRestarts).To(BeNumerically("<=", j.killed), "%s: nothing but kills is charged", j.name)
	})
	s.took["amidst: "+name] = append(s.took["amidst: "+name], time.Since(began))
}

// settles waits until the job runs in an attempt after the given one, as the status and the processes say, and has for some seconds.
func (s *storm) settles(ctx context.Context, j *stormJob, after int32) {
	GinkgoHelper()
	var since time.Time
	var last []process
	j.becomes(ctx, "it runs again and goes on", func(status *v1alpha1.TrainingJobStatus) bool {
		runs := status.Attempt > after && status.Phase == v1alpha1.PhaseRunning && status.ReadyReplicas == status.Replicas
		if !runs || !s.diaries.allRun(j.name, stormRanks, status.Attempt) {
			since = time.Time{}
			return false
		}
		now, err := j.tryProcesses(ctx, stormRanks)
		if err != nil || since.IsZero() || !slices.Equal(now, last) {
			since, last = time.Now(), now
		}
		return err == nil && time.Since(since) > 3*time.Second
	})
}

// begins begins a restart, by a request or by the kill of a rank, which it returns; -1 for none.
func (j *stormJob) begins(ctx context.Context) int {
	GinkgoHelper()
	if j.chance.IntN(2) == 0 {
		j.asksForRestart(ctx, "after attempt "+attempt(j.seen.Status.Attempt))
		return -1
	}
	rank := j.chance.IntN(stormRanks)
	kill(ctx, j.pod(ctx, rank))
	j.killed++
	return rank
}

// pods returns the UIDs of the ranks' pods.
func (j *stormJob) pods(ctx context.Context) []types.UID {
	GinkgoHelper()
	return podsOf(j.processes(ctx, stormRanks))
}

func podsOf(processes []process) []types.UID {
	var uids []types.UID
	for _, p := range processes {
		uids = append(uids, p.pod)
	}
	return uids
}

func (j *stormJob) count(before, after []types.UID, kept, made *int) {
	for rank := range before {
		if before[rank] == after[rank] {
			*kept++
		} else {
			*made++
		}
	}
}

// holdsDiaries holds what the processes have written down so far: never two of a rank at a time, and one start for each attempt that no
// fault fell into.
func (s *storm) holdsDiaries() {
	GinkgoHelper()
	for _, j := range s.jobs {
		for rank := range stormRanks {
			name := workerName(j.name, rank)
			attempts, overlaps, err := s.diaries.starts(name)
			Expect(err).NotTo(HaveOccurred())
			Expect(overlaps).To(BeZero(), "processes of %s that found another one alive", name)
			count := map[string]int{}
			for _, a := range attempts {
				count[a]++
			}
			for n := range j.seen.Status.Attempt + 1 {
				if a := attempt(n); !j.disturbed[a] {
					Expect(count[a]).To(Equal(1), "starts of %s in attempt %s", name, a)
				}
			}
		}
	}
}

// again returns how many starts of a rank came after another one in the same attempt: its pod was lost to a fault.
func (s *storm) again() int {
	n := 0
	for _, j := range s.jobs {
		for rank := range stormRanks {
			attempts, _, _ := s.diaries.starts(workerName(j.name, rank))
			n += len(attempts) - len(slices.Compact(slices.Sorted(slices.Values(attempts))))
		}
	}
	return n
}

func (s *storm) String() string {
	var killed, charged int32
	var kept, made, keptAmidst, madeAmidst int
	for _, j := range s.jobs {
		killed, charged = killed+j.killed, charged+j.seen.Status.ChargedRestarts
		kept, made, keptAmidst, madeAmidst = kept+j.kept, made+j.made, keptAmidst+j.keptAmidst, madeAmidst+j.madeAmidst
	}
	text := fmt.Sprintf("%d restarts of %d jobs of %d ranks, none with two processes of a rank alive; %d kills, %d restarts charged\n"+
		"without a fault: %d ranks went on in their pods, %d got others; amidst faults: %d and %d, %d started twice in an attempt\n",
		s.restarts(), stormJobs, stormRanks, killed, charged, kept, made, keptAmidst, madeAmidst, s.again())
	for _, kind := range slices.Sorted(maps.Keys(s.took)) {
		text += fmt.Sprintf("%s: %d, all run after %s\n", kind, len(s.took[kind]), spread(s.took[kind]))
	}
	return text
}
