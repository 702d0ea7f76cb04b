package main

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

// answer is an API server that answers every request alike.
type answer int

func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(a), Body: http.NoBody}, nil
}

// send reports whether the request passed.
func send(t *testing.T, m leaseGuard, method, path string) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "https://cluster"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := m.RoundTrip(request)
	if err != nil {
		if !errors.Is(err, errLeaseExpired) {
			t.Fatal(err)
		}
		return false
	}
	return response.Body.Close() == nil
}

func TestALeaderWritesForAsLongAsItRenewedItsLease(t *testing.T) {
	const (
		leases = "/apis/coordination.k8s.io/v1/namespaces/n/leases"
		held   = leases + "/" + electionLease
		pods   = "/api/v1/namespaces/n/pods"
	)
	m := leaseGuard{answer(http.StatusOK), &lease{lasts: time.Hour}}
	refused := leaseGuard{answer(http.StatusConflict), m.held}
	if send(t, m, http.MethodPost, pods) {
		t.Error("whoever never had the lease may not write")
	}
	if !send(t, m, http.MethodGet, pods) || !send(t, m, http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews") {
		t.Error("everybody may read, and ask who reads the metrics")
	}
	if !send(t, refused, http.MethodPut, held) || send(t, m, http.MethodDelete, pods) {
		t.Error("a lease that the API server refused is none")
	}
	expired := leaseGuard{answer(http.StatusOK), &lease{renewed: time.Now().Add(-2 * time.Hour), lasts: time.Hour}}
	if send(t, expired, http.MethodPost, leases) || send(t, expired, http.MethodPost, pods) {
		t.Error("whoever lost the lease may make neither pods nor the Lease of a job's progress")
	}
	first := leaseGuard{answer(http.StatusCreated), &lease{lasts: time.Hour}}
	if !send(t, first, http.MethodPost, leases) || !send(t, first, http.MethodPost, pods) {
		t.Error("whoever made the lease has it")
	}
	if !send(t, m, http.MethodPut, held) || !send(t, m, http.MethodPost, pods) {
		t.Error("whoever has the lease may write")
	}
}

func TestALeaseExpiresByTheClockThatWentOn(t *testing.T) {
	held := &lease{lasts: 10 * time.Second}
	start := time.Now()
	held.renew(start)
	for name, c := range map[string]struct {
		now  time.Time
		want bool
	}{
		"in time":                               {start.Add(10 * time.Second), false},
		"too late":                              {start.Add(11 * time.Second), true},
		"the machine was suspended":             {start.Round(0).Add(time.Hour), true},
		"the wall clock alone, and it is early": {start.Round(0).Add(time.Second), false},
	} {
		if got := held.expired(c.now); got != c.want {
			t.Errorf("%s: expired %v, want %v", name, got, c.want)
		}
	}
}
