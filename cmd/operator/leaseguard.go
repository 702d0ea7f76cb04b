package main

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
)

// leaseGuard refuses writes from the moment at which the leader's lease should have been renewed and was not.
//
// The leader election alone stops writes too late: a process that was frozen (a paused container, a suspended machine) wakes as the
// leader it was and tries to renew for the whole renew deadline before it gives up. Until then its workers would write what
// they had decided before, beside the new leader. So every write passes here, and the clock decides.
type leaseGuard struct {
	http.RoundTripper
	held *lease
}

// lease is when the leader last renewed its lease. All of a process's connections share it.
type lease struct {
	lasts time.Duration

	mu      sync.Mutex
	renewed time.Time
}

var errLeaseExpired = errors.New("this operator's lease has expired: another one may lead, so nothing is written")

// RoundTrip refuses a write that comes after the leader's lease should have been renewed.
func (m leaseGuard) RoundTrip(request *http.Request) (*http.Response, error) {
	switch {
	case m.isElection(request):
		return m.elect(request)
	case changesSomething(request) && m.held.expired(time.Now()):
		return nil, errLeaseExpired
	default:
		return m.RoundTripper.RoundTrip(request)
	}
}

// WrappedRoundTripper returns the transport behind, through which client-go cancels requests.
func (m leaseGuard) WrappedRoundTripper() http.RoundTripper { return m.RoundTripper }

// isElection reports whether the request belongs to the leader election. The election creates its lease before it has ever held it. A
// later creation is none of the election's.
func (m leaseGuard) isElection(request *http.Request) bool {
	isFirst := request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/leases") && !m.held.everHeld()
	return isFirst || strings.HasSuffix(request.URL.Path, "/leases/"+electionLease)
}

// elect sends a request of the leader election. The lease counts as renewed from when the request was sent, if it succeeds.
func (m leaseGuard) elect(request *http.Request) (*http.Response, error) {
	sent := time.Now()
	response, err := m.RoundTripper.RoundTrip(request)
	if err == nil && request.Method != http.MethodGet && response.StatusCode < http.StatusMultipleChoices {
		m.held.renew(sent)
	}
	return response, err
}

// changesSomething reports whether the request is a write. A review, which every replica sends about the readers of its metrics, is none.
func changesSomething(request *http.Request) bool {
	isReview := strings.HasSuffix(request.URL.Path, "reviews")
	return request.Method != http.MethodGet && !isReview
}

func (t *lease) renew(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewed = at
}

func (t *lease) everHeld() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.renewed.IsZero()
}

// expired reports whether the lease should have been renewed before now. The monotonic clock stands still while a machine is
// suspended and the wall clock can be set back, so the one by which more time has passed counts.
func (t *lease) expired(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(now.Sub(t.renewed), now.Round(0).Sub(t.renewed.Round(0))) > t.lasts
}
