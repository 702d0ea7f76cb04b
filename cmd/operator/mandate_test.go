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
func send(t *testing.T, m mandate, method, path string) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "https://cluster"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := m.RoundTrip(request)
	if err != nil {
		if !errors.Is(err, errNoMandate) {
			t.Fatal(err)
		}
		return false
	}
	return response.Body.Close() == nil
}

func TestALeaderWritesForAsLongAsHeRenewedHisLease(t *testing.T) {
	const (
		leases = "/apis/coordination.k8s.io/v1/namespaces/n/leases"
		lease  = leases + "/" + electionLease
		pods   = "/api/v1/namespaces/n/pods"
	)
	m := mandate{answer(http.StatusOK), &tenure{lasts: time.Hour}}
	refused := mandate{answer(http.StatusConflict), m.held}
	if send(t, m, http.MethodPost, pods) {
		t.Error("who never had the lease may not write")
	}
	if !send(t, m, http.MethodGet, pods) || !send(t, m, http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews") {
		t.Error("everybody may read, and ask who reads his metrics")
	}
	if !send(t, refused, http.MethodPut, lease) || send(t, m, http.MethodDelete, pods) {
		t.Error("a lease that the API server refused is none")
	}
	expired := mandate{answer(http.StatusOK), &tenure{renewed: time.Now().Add(-2 * time.Hour), lasts: time.Hour}}
	if send(t, expired, http.MethodPost, leases) || send(t, expired, http.MethodPost, pods) {
		t.Error("who lost the lease may make neither pods nor the Lease of a job's progress")
	}
	first := mandate{answer(http.StatusCreated), &tenure{lasts: time.Hour}}
	if !send(t, first, http.MethodPost, leases) || !send(t, first, http.MethodPost, pods) {
		t.Error("who made the lease has it")
	}
	if !send(t, m, http.MethodPut, lease) || !send(t, m, http.MethodPost, pods) {
		t.Error("who has the lease may write")
	}
}

func TestAMandateEndsByTheClockThatWentOn(t *testing.T) {
	held := &tenure{lasts: 10 * time.Second}
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
		if got := held.ranOut(c.now); got != c.want {
			t.Errorf("%s: ran out %v, want %v", name, got, c.want)
		}
	}
}
