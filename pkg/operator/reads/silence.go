package reads

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/nodes"
)

const (
	// leasesEvery is how often the Leases of all nodes are read, and leasesWithin how long a read may take.
	leasesEvery, leasesWithin = 5 * time.Second, 10 * time.Second
	// leasesFor is how long, after the time of patience, Leases are read for a job that waits. Then the node controller has noticed a silent
	// node, and a pod that does not end on a node that is well is no reason to read. As long as a node of the job is silent, the reads go on.
	leasesFor = time.Minute
	// leasesCount is for how long a read counts: without a newer one no node is silent.
	leasesCount = 20 * time.Second
)

// Silence finds silent nodes for jobs that wait for pods on them. It reads the Leases of all nodes, once for all jobs, beside the
// reconciles, and never while no job waits.
type Silence struct {
	*Settings

	mu sync.Mutex
	// isReading is whether a read is under way, or will be.
	isReading bool
	leases    nodes.Leases
	silent    map[string]time.Time
	readAt    time.Time
	jobs      map[client.ObjectKey]*awaiting
}

// awaiting is what a job waits for: since when, and on which nodes.
type awaiting struct {
	since        time.Time
	awaitedNodes []string
}

// ReadLeases reads the Leases of all nodes.
type ReadLeases func(context.Context) (map[string]nodes.Lease, error)

// NewSilence returns a Silence whose nodes are silent after the time of patience. It logs when other nodes of a job are silent than before,
// and calls Changed then.
func NewSilence(s *Settings) *Silence {
	return &Silence{Settings: s, jobs: map[client.ObjectKey]*awaiting{}}
}

// Want has the Leases read as long as the job waits for these nodes. With no nodes it forgets the job.
func (s *Silence) Want(job client.ObjectKey, awaitedNodes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(awaitedNodes) == 0 || s.Leases == nil {
		delete(s.jobs, job)
		return
	}
	if s.jobs[job] == nil {
		s.jobs[job] = &awaiting{since: s.Clock.Now()}
	}
	before := s.among(s.jobs[job].awaitedNodes)
	s.jobs[job].awaitedNodes = awaitedNodes
	if !maps.Equal(before, s.among(awaitedNodes)) { // the reads for other jobs have shown it
		s.Clock.AfterFunc(0, func() { s.Changed(job) })
	}
	if !s.isReading && s.wants(s.jobs[job]) {
		s.isReading = true
		s.Clock.AfterFunc(0, s.readNow)
	}
}

// Seen returns which of the nodes that the job waits for are silent, each with since when, as far as it is known.
func (s *Silence) Seen(job client.ObjectKey) map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[job] == nil {
		return nil
	}
	return s.among(s.jobs[job].awaitedNodes)
}

// among returns which of the nodes are silent. The caller holds the lock.
func (s *Silence) among(awaitedNodes []string) map[string]time.Time {
	found := map[string]time.Time{}
	if s.Clock.Since(s.readAt) > leasesCount {
		return found
	}
	for _, node := range awaitedNodes {
		if since, isSilent := s.silent[node]; isSilent {
			found[node] = since
		}
	}
	return found
}

// wants reports whether Leases are to be read for the job. The caller holds the lock.
func (s *Silence) wants(job *awaiting) bool {
	return s.Clock.Since(job.since) < s.Patience+leasesFor || len(s.among(job.awaitedNodes)) > 0
}

// readNow reads the Leases, and again later, until no job waits. Without reads in between earlier ones mean nothing.
func (s *Silence) readNow() {
	s.mu.Lock()
	s.isReading = slices.ContainsFunc(slices.Collect(maps.Values(s.jobs)), s.wants)
	if !s.isReading {
		s.leases, s.silent = nodes.Leases{}, nil
	}
	isReading := s.isReading
	s.mu.Unlock()
	if !isReading {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leasesWithin)
	defer cancel()
	began := s.Clock.Now()
	if read, err := s.Leases(ctx); err == nil {
		for _, job := range s.keep(began, read) {
			s.Changed(job)
		}
	}
	s.Clock.AfterFunc(leasesEvery, s.readNow)
}

// keep records a read. It returns the jobs whose silent nodes have changed.
func (s *Silence) keep(began time.Time, read map[string]nodes.Lease) (changed []client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := map[client.ObjectKey]map[string]time.Time{}
	for key, job := range s.jobs {
		before[key] = s.among(job.awaitedNodes)
	}
	s.leases.Add(began, s.Clock.Now(), read)
	s.silent, s.readAt = s.leases.Silent(s.Patience), s.Clock.Now()
	for key, job := range s.jobs {
		if now := s.among(job.awaitedNodes); !maps.Equal(before[key], now) {
			changed = append(changed, key)
			s.Log.Info("The silent nodes of a restart have changed", "namespace", key.Namespace, "name", key.Name,
				"nodes", slices.Sorted(maps.Keys(now)), "before", slices.Sorted(maps.Keys(before[key])))
		}
	}
	return changed
}
