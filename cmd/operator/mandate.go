package main

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
)

// mandate is the leader's right to write, which ends with the time for which he last renewed his lease.
//
// The leader election alone ends it too late: a process that was frozen (a paused container, a suspended machine) wakes as the
// leader it was and tries to renew for the whole renew deadline before it gives up. Until then its workers would go on to
// write what they had decided before, beside the new leader. So every write passes here, and the clock decides.
type mandate struct {
	http.RoundTripper
	held *tenure
}

// tenure is when the leader last renewed his lease. All of a process's connections share it.
type tenure struct {
	lasts time.Duration

	mu      sync.Mutex
	renewed time.Time
}

var errNoMandate = errors.New("this operator's lease has run out: another one may lead, so nothing is written")

// RoundTrip refuses a write that comes after the leader's lease should have been renewed.
func (m mandate) RoundTrip(request *http.Request) (*http.Response, error) {
	switch {
	case m.isElection(request):
		return m.elect(request)
	case changesSomething(request) && m.held.ranOut(time.Now()):
		return nil, errNoMandate
	default:
		return m.RoundTripper.RoundTrip(request)
	}
}

// WrappedRoundTripper returns the transport behind, through which client-go cancels requests.
func (m mandate) WrappedRoundTripper() http.RoundTripper { return m.RoundTripper }

// isElection reports whether the request is the leader election's. It makes its lease before it has ever held it; who makes
// a Lease later is a leader at work.
func (m mandate) isElection(request *http.Request) bool {
	isFirst := request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/leases") && !m.held.everHeld()
	return isFirst || strings.HasSuffix(request.URL.Path, "/leases/"+electionLease)
}

// elect passes a request of the leader election, and learns from the answer whether the lease was renewed, and when at least.
func (m mandate) elect(request *http.Request) (*http.Response, error) {
	sent := time.Now()
	response, err := m.RoundTripper.RoundTrip(request)
	if err == nil && request.Method != http.MethodGet && response.StatusCode < http.StatusMultipleChoices {
		m.held.renew(sent)
	}
	return response, err
}

// changesSomething reports whether the request is a write; a review, by which every replica asks who reads its metrics, is none.
func changesSomething(request *http.Request) bool {
	isReview := strings.HasSuffix(request.URL.Path, "reviews")
	return request.Method != http.MethodGet && !isReview
}

func (t *tenure) renew(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewed = at
}

func (t *tenure) everHeld() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.renewed.IsZero()
}

// ranOut reports whether the lease was to be renewed before now. The monotonic clock stands still while a machine is
// suspended and the wall clock can be set back, so the one by which more time has passed counts.
func (t *tenure) ranOut(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(now.Sub(t.renewed), now.Round(0).Sub(t.renewed.Round(0))) > t.lasts
}
