package web

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/report"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/test/sim/builder"
)

// shown are jobs that a test changes.
type shown struct {
	mu      sync.Mutex
	jobs    []v1alpha1.TrainingJob
	changed chan struct{}
}

func (s *shown) List() ([]v1alpha1.TrainingJob, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs, s.changed
}

func (s *shown) Report(_ context.Context, _, name string) (report.Report, error) {
	switch name {
	case "mnist":
		return report.Make(&story.View{Job: builder.Job("mnist", builder.Workers(1)), Now: builder.Epoch}, nil), nil
	case "forbidden":
		return report.Report{}, errors.New("pods is forbidden")
	default:
		return report.Report{}, ErrUnknown
	}
}

func (s *shown) Explain(err error) string { return err.Error() }

func newShown() *shown {
	return &shown{jobs: []v1alpha1.TrainingJob{*builder.Job("mnist", builder.Workers(1), builder.RunsSince(0))}, changed: make(chan struct{})}
}

func newServer(jobs Jobs) *Server { return New(jobs, func() time.Time { return builder.Epoch }) }

func TestWhoMaySeeWhat(t *testing.T) {
	s := newServer(newShown())
	token := "?token=" + s.token
	cases := []struct {
		name, method, host, path string
		want                     int
		says                     string
	}{
		{"the address that was printed", "GET", "127.0.0.1:4000", "/" + token, 200, "mnist"},
		{"localhost", "GET", "localhost:4000", "/" + token, 200, "mnist"},
		{"IPv6", "GET", "[::1]:4000", "/" + token, 200, "mnist"},
		{"a job", "GET", "127.0.0.1:4000", "/job/default/mnist" + token, 200, "mnist"},
		{"an unknown job", "GET", "127.0.0.1:4000", "/job/default/other" + token, 404, "no such job"},
		{"a job that may not be read", "GET", "127.0.0.1:4000", "/job/default/forbidden" + token, 502, "forbidden"},
		{"an unknown page", "GET", "127.0.0.1:4000", "/other" + token, 404, ""},
		{"no token", "GET", "127.0.0.1:4000", "/", 403, "token is missing or wrong"},
		{"a wrong token", "GET", "127.0.0.1:4000", "/?token=" + strings.Repeat("A", len(s.token)), 403, "token is missing or wrong"},
		{"an empty token", "GET", "127.0.0.1:4000", "/?token=", 403, "token is missing or wrong"},
		{"half of the token", "GET", "127.0.0.1:4000", "/" + token[:len(token)-1], 403, "token is missing or wrong"},
		{"changes without a token", "GET", "127.0.0.1:4000", "/events", 403, "token is missing or wrong"},
		{"a job without a token", "GET", "127.0.0.1:4000", "/job/default/mnist", 403, "token is missing or wrong"},
		{"a name that somebody pointed here", "GET", "evil.example:4000", "/" + token, 403, "not the one that kubectl tj ui printed"},
		{"a name that looks like an address", "GET", "127.0.0.1.evil.example", "/" + token, 403, "not the one that kubectl tj ui printed"},
		{"an address of the network", "GET", "10.0.0.7:4000", "/" + token, 403, "not the one that kubectl tj ui printed"},
		{"a write", "POST", "127.0.0.1:4000", "/" + token, 405, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			request := httptest.NewRequestWithContext(t.Context(), c.method, c.path, http.NoBody)
			request.Host = c.host
			answer := httptest.NewRecorder()
			s.Handler().ServeHTTP(answer, request)
			if answer.Code != c.want || !strings.Contains(answer.Body.String(), c.says) {
				t.Errorf("status %d: %.200s", answer.Code, answer.Body)
			}
			if policy := answer.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || answer.Header().Get("Referrer-Policy") != "no-referrer" {
				t.Errorf("headers %v", answer.Header())
			}
			if c.want == 403 && strings.Contains(answer.Body.String(), s.token) {
				t.Error("the token is told to somebody who does not have it")
			}
		})
	}
}

// The page's script is the one that the policy allows, and every link in it has the token.
func TestThePageFitsItsPolicy(t *testing.T) {
	s := newServer(newShown())
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/?token="+s.token, http.NoBody)
	request.Host = "127.0.0.1:4000"
	answer := httptest.NewRecorder()
	s.Handler().ServeHTTP(answer, request)
	page := answer.Body.String()
	_, after, _ := strings.Cut(answer.Header().Get("Content-Security-Policy"), "'nonce-")
	nonce, _, _ := strings.Cut(after, "'")
	if len(nonce) < 16 || strings.Count(page, "<script") != 1 || !strings.Contains(page, `<script nonce="`+nonce+`">`) {
		t.Errorf("the nonce %q is not the script's", nonce)
	}
	if !strings.Contains(page, `href="/job/team-a/mnist?token=`+s.token+`"`) || !strings.Contains(page, `EventSource("/events?token=`+s.token+`")`) {
		t.Errorf("links: %s", page)
	}
}

// A page is told of a change, and the stream ends with the server.
func TestAPageIsToldOfChanges(t *testing.T) {
	jobs := newShown()
	s := newServer(jobs)
	s.gap, s.beat = time.Millisecond, time.Hour
	ctx, stop := context.WithCancel(t.Context())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listener) }()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/events?token="+s.token, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	jobs.mu.Lock()
	close(jobs.changed)
	jobs.changed = make(chan struct{})
	jobs.mu.Unlock()
	if line, err := bufio.NewReader(answer.Body).ReadString('\n'); line != "data: changed\n" || err != nil {
		t.Errorf("told %q, %v", line, err)
	}
	stop()
	if err := <-served; err != nil {
		t.Errorf("served until %v", err)
	}
	if _, err := bufio.NewReader(answer.Body).ReadString('?'); err == nil {
		t.Error("the stream goes on although the server has ended")
	}
}

func TestTheAddressIsLoopback(t *testing.T) {
	s := newServer(newShown())
	if got := s.Address(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4000}); got != "http://127.0.0.1:4000/?token="+s.token {
		t.Errorf("address %s", got)
	}
	if other := newServer(newShown()); other.token == s.token || len(s.token) < 20 {
		t.Errorf("tokens %q and %q", s.token, other.token)
	}
}
