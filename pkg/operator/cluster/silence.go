package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
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
type Silence interface {
	// Of returns which of the nodes are silent, each with since when, as far as it is known. With no nodes it forgets the job.
	Of(job client.ObjectKey, nodes []string) map[string]time.Time
}

// silence reads Leases.
type silence struct {
	read     ReadLeases
	clock    clock.WithDelayedExecution
	patience time.Duration
	log      logr.Logger
	changed  func(client.ObjectKey)

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
	since time.Time
	nodes []string
}

// ReadLeases reads the Leases of all nodes.
type ReadLeases func(context.Context) (map[string]nodes.Lease, error)

// NewSilence returns a Silence whose nodes are silent after the time of patience. It logs when other nodes of a job are silent than before,
// and calls changed then.
func NewSilence(read ReadLeases, clock clock.WithDelayedExecution, patience time.Duration, log logr.Logger, changed func(client.ObjectKey)) Silence {
	return &silence{read: read, clock: clock, patience: patience, log: log, changed: changed, jobs: map[client.ObjectKey]*awaiting{}}
}

// Of implements Silence.
func (s *silence) Of(job client.ObjectKey, awaited []string) map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(awaited) == 0 {
		delete(s.jobs, job)
		return nil
	}
	if s.jobs[job] == nil {
		s.jobs[job] = &awaiting{since: s.clock.Now()}
	}
	s.jobs[job].nodes = awaited
	if !s.isReading && s.wants(s.jobs[job]) {
		s.isReading = true
		s.clock.AfterFunc(0, s.readNow)
	}
	return s.among(awaited)
}

// among returns which of the nodes are silent. The caller holds the lock.
func (s *silence) among(awaited []string) map[string]time.Time {
	found := map[string]time.Time{}
	if s.clock.Since(s.readAt) > leasesCount {
		return found
	}
	for _, node := range awaited {
		if since, isSilent := s.silent[node]; isSilent {
			found[node] = since
		}
	}
	return found
}

// wants reports whether Leases are to be read for the job. The caller holds the lock.
func (s *silence) wants(job *awaiting) bool {
	return s.clock.Since(job.since) < s.patience+leasesFor || len(s.among(job.nodes)) > 0
}

// readNow reads the Leases, and again later, until no job waits. Without reads in between earlier ones mean nothing.
func (s *silence) readNow() {
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
	began := s.clock.Now()
	if read, err := s.read(ctx); err == nil {
		for _, job := range s.keep(began, read) {
			s.changed(job)
		}
	}
	s.clock.AfterFunc(leasesEvery, s.readNow)
}

// keep records a read. It returns the jobs whose silent nodes have changed.
func (s *silence) keep(began time.Time, read map[string]nodes.Lease) (changed []client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := map[client.ObjectKey]map[string]time.Time{}
	for key, job := range s.jobs {
		before[key] = s.among(job.nodes)
	}
	s.leases.Add(began, s.clock.Now(), read)
	s.silent, s.readAt = s.leases.Silent(s.patience), s.clock.Now()
	for key, job := range s.jobs {
		if now := s.among(job.nodes); !maps.Equal(before[key], now) {
			changed = append(changed, key)
			s.log.Info("The silent nodes of a restart have changed", "namespace", key.Namespace, "name", key.Name,
				"nodes", slices.Sorted(maps.Keys(now)), "before", slices.Sorted(maps.Keys(before[key])))
		}
	}
	return changed
}

// addSilent returns the snapshot, or another one in which the silent nodes count as lost whose pods the job waits for.
func (c *Cluster) addSilent(s *state.Snapshot) (*state.Snapshot, error) {
	if !c.options.WatchNodes {
		return s, nil
	}
	silent := c.options.Silence.Of(client.ObjectKeyFromObject(s.Job), s.Awaited())
	if len(silent) == 0 {
		return s, nil
	}
	o := s.Observed
	o.Nodes = nodes.WithSilent(o.Nodes, silent, o.Now)
	found, err := state.New(o)
	if err != nil {
		return nil, fmt.Errorf("adding the silent nodes: %w", err)
	}
	return found, nil
}

// noSilence is the Silence of a Cluster without any: no node is silent.
type noSilence struct{}

// Of implements Silence.
func (noSilence) Of(client.ObjectKey, []string) map[string]time.Time { return nil }
