package cluster

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/progress"
	"github.com/trainingjob/operator/pkg/state"
)

// stepsEvery is how often the pages of all ranks are read for their steps. A straggler shows after 10 to 14 minutes.
const stepsEvery = progress.PaceWindow / 4

// stepReads is how many ranks of a job are read at once. They leave the rest of its namespace's share to the reports of other jobs.
const stepReads = 4

// paced is a job whose ranks are compared by their steps.
type paced struct {
	pace      progress.Pace
	next      time.Time
	isReading bool
	slow      []v1alpha1.Straggler
}

// Stragglers implements Pages.
func (p *pages) Stragglers(job client.ObjectKey, ranks []RankPage) []v1alpha1.Straggler {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(ranks) < progress.MinRanks {
		delete(p.paced, job)
		return nil
	}
	w := p.paced[job]
	if w == nil {
		w = &paced{}
		p.paced[job] = w
	}
	if now := p.clock.Now(); !w.isReading && !now.Before(w.next) {
		w.isReading, w.next = true, now.Add(wait.Jitter(stepsEvery, 0.1))
		go p.readSteps(job, w, ranks, now)
	}
	return w.slow
}

// readSteps reads the steps of all ranks, and wakes the job if other ranks are slow now. The read of each takes part in the share of its
// namespace.
func (p *pages) readSteps(job client.ObjectKey, w *paced, ranks []RankPage, at time.Time) {
	reports := make([]progress.Said, len(ranks))
	var reads errgroup.Group
	reads.SetLimit(stepReads)
	for i := range ranks {
		reads.Go(func() error {
			reports[i] = p.reportOf(job.Namespace, &ranks[i])
			return nil
		})
	}
	_ = reads.Wait() // no read returns an error
	p.mu.Lock()
	for i, said := range reports {
		if said.Step > 0 {
			w.pace.Add(ranks[i].Slot, string(ranks[i].Pod)+"/"+said.Attempt+"/"+said.Life, said.Step, at)
		}
	}
	slow := w.pace.Stragglers(at)
	isNews := !slices.Equal(slow, w.slow)
	w.slow, w.isReading = slow, false
	p.mu.Unlock()
	if isNews {
		p.changed(job)
	}
}

// reportOf returns the report of a rank; the zero report if its page shows none.
func (p *pages) reportOf(namespace string, rank *RankPage) progress.Said {
	release, err := p.slots.acquire(context.Background(), namespace)
	if err != nil { // only an ended context is an error
		return progress.Said{}
	}
	defer release()
	body, err := p.read(context.Background(), rank.Address, progress.Report)
	if err != nil {
		return progress.Said{}
	}
	said, err := progress.Parse(body)
	if err != nil {
		return progress.Said{}
	}
	return said
}

// addStragglers adds the ranks that are slower than the others, while all of the job run.
func (c *Cluster) addStragglers(s *state.Snapshot) {
	var ranks []RankPage
	if state.ReportsByPage(&s.Job.Spec) && s.Is(v1alpha1.ConditionRunning) {
		ranks, _ = c.rankPages(s)
	}
	s.Stragglers = c.options.Pages.Stragglers(client.ObjectKeyFromObject(s.Job), ranks)
}
