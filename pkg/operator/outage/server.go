package outage

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

const (
	pollEvery = time.Second
	logEvery  = 30 * time.Second
	// answerWithin is how long one question may take. /readyz is exempt from priority and fairness, so an answer of a busy API server comes sooner.
	answerWithin = 10 * time.Second
	// patience is how long a running program goes on without any answer. It is longer than a leader tries to renew its lease, and
	// ends before the reflectors back off for longer than that.
	patience = 30 * time.Second
)

// Server is the API server that a program works with.
type Server struct {
	config   *rest.Config
	rest     rest.Interface
	log      logr.Logger
	patience time.Duration
	// needs is the group and version that must be served before the program can begin; empty for none.
	needs string
	// failed receives a value when a request got no answer.
	failed chan struct{}
}

// New returns the API server of a configuration. It sends nothing.
func New(config *rest.Config, log logr.Logger) (*Server, error) {
	s := &Server{config: rest.CopyConfig(config), log: log, patience: patience, failed: make(chan struct{}, 1)}
	if s.config.Proxy == nil {
		s.config.Proxy = http.ProxyFromEnvironment // client-go shares transports without it, and reads the CA's file of a shared one every 5 minutes
	}
	return s, s.connect()
}

// connect reads the credentials and the CA from their files.
func (s *Server) connect() error {
	client, err := discovery.NewDiscoveryClientForConfig(s.config)
	if err != nil {
		return fmt.Errorf("reading the API server's address: %w", err)
	}
	s.rest = client.RESTClient()
	return nil
}

// Needs makes Wait wait until the API server serves the group and version: a CRD that was just applied is not served yet.
func (s *Server) Needs(version string) { s.needs = version }

// ready returns why the program cannot begin yet; nil if it can.
func (s *Server) ready(ctx context.Context) error {
	if _, err := s.ask(ctx); err != nil || s.needs == "" {
		return err
	}
	if code, _, err := s.get(ctx, "/apis/"+s.needs); code == 0 {
		return err
	} else if code == http.StatusNotFound || code >= http.StatusInternalServerError {
		return fmt.Errorf("it does not serve %s yet (status %d): apply the CRD", s.needs, code)
	}
	return nil
}

// ask returns whether the API server answered, and why it is not ready; nil if it is.
//
// A server that has just started refuses everything until it has read its roles. A server that only hides its readiness still serves
// discovery, which a manager needs first.
func (s *Server) ask(ctx context.Context) (bool, error) {
	code, body, err := s.get(ctx, "/readyz")
	if isRefused(code) {
		code, body, err = s.get(ctx, "/apis")
	}
	switch {
	case code == 0:
		return false, err
	case isRefused(code):
		return true, fmt.Errorf("it refuses discovery: status %d", code)
	case code < http.StatusInternalServerError && code != http.StatusTooManyRequests:
		return true, nil
	default:
		return true, fmt.Errorf("it is not ready: status %d %s", code, strings.Join(failing(body), " "))
	}
}

func isRefused(code int) bool { return code == http.StatusUnauthorized || code == http.StatusForbidden }

// get returns the status and the body of an answer. Without an answer the status is 0, and the error gives the reason.
func (s *Server) get(ctx context.Context, path string) (code int, body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	raw, err := s.rest.Get().AbsPath(path).MaxRetries(0).Do(ctx).StatusCode(&code).Raw()
	if errors.As(err, new(x509.UnknownAuthorityError)) { // the next question finds the CA that has replaced it
		err = cmp.Or(s.connect(), err)
	}
	return code, string(raw), err
}

// failing returns the checks that fail according to the text of /readyz.
func failing(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if check, isBad := strings.CutPrefix(strings.TrimSpace(line), "[-]"); isBad {
			lines = append(lines, check+";")
		}
	}
	return lines
}

// Wrap returns a transport that makes Start look for an outage when a request gets no answer.
func (s *Server) Wrap(next http.RoundTripper) http.RoundTripper { return transport{next, s.failed} }

type transport struct {
	http.RoundTripper
	failed chan<- struct{}
}

// RoundTrip sends a request and reports it if there is no answer.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err != nil && request.Context().Err() == nil {
		select {
		case t.failed <- struct{}{}:
		default: // it is reported already
		}
	}
	return response, err
}

// WrappedRoundTripper returns the transport behind, through which client-go cancels requests.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// NeedLeaderElection reports false: a replica that does not lead watches for outages too.
func (s *Server) NeedLeaderElection() bool { return false }

// Start returns nil when the context ends, and an error once the API server has not answered for longer than patience. It sends
// requests only after one of the program's own got no answer.
func (s *Server) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.failed:
		}
		if err := s.endure(ctx); err != nil {
			return err
		}
	}
}

// endure returns nil once the API server answers or the context ends, and an error if that takes longer than patience.
func (s *Server) endure(ctx context.Context) error {
	begin := time.Now()
	for {
		answered, err := s.ask(ctx)
		if answered || ctx.Err() != nil {
			return nil
		}
		if time.Since(begin) > s.patience {
			return fmt.Errorf("no answer from the API server at %s for %s: %w; this process ends, the next one waits", s.config.Host, s.patience, err)
		}
		if !pause(ctx, pollEvery) {
			return nil
		}
	}
}

// pause waits, and reports whether it did so to the end.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
