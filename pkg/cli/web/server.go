package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/report"
)

// Jobs are what the pages show.
type Jobs interface {
	// List returns the jobs as they are now, and a channel that is closed when that may have changed.
	List() ([]v1alpha1.TrainingJob, <-chan struct{})
	// Report returns the report of a job. It returns ErrUnknown if there is no such job.
	Report(ctx context.Context, namespace, name string) (report.Report, error)
	// Explain returns an error as a sentence for people.
	Explain(err error) string
}

// ErrUnknown is the error for a job that does not exist.
var ErrUnknown = errors.New("there is no such job, or it has been deleted")

// Server serves the pages.
type Server struct {
	jobs  Jobs
	token string
	// gap is the least time between two notices of changes to a page, beat the longest.
	gap, beat time.Duration
	now       func() time.Time
}

// New returns a server with a token of its own.
func New(jobs Jobs, now func() time.Time) *Server {
	return &Server{jobs: jobs, token: rand.Text(), gap: 3 * time.Second, beat: 30 * time.Second, now: now}
}

// Address returns the address of the first page of a server that listens there.
func (s *Server) Address(listener net.Addr) string {
	return "http://" + listener.String() + s.link("/")
}

// link returns the address of a page of this server.
func (s *Server) link(path string) string { return path + "?token=" + url.QueryEscape(s.token) }

// Serve serves until the context ends.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler returns what answers requests.
func (s *Server) Handler() http.Handler {
	pages := http.NewServeMux()
	pages.HandleFunc("GET /{$}", s.list)
	pages.HandleFunc("GET /job/{namespace}/{name}", s.job)
	pages.HandleFunc("GET /events", s.events)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nonce := rand.Text()
		guard(w.Header(), nonce)
		switch {
		case !isLoopback(r.Host):
			refuse(w, "this address is not the one that kubectl tj ui printed")
		case !s.hasToken(r):
			refuse(w, "the token is missing or wrong: open the address that kubectl tj ui printed")
		default:
			pages.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), nonceKey{}, nonce)))
		}
	})
}

type nonceKey struct{}

// guard sets what browsers are to hold a page to.
func guard(h http.Header, nonce string) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-"+nonce+
		"'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// isLoopback reports whether the request came to a loopback address itself, and not by a foreign host name.
func isLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *Server) hasToken(r *http.Request) bool {
	given := r.URL.Query().Get("token")
	return subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1
}

func refuse(w http.ResponseWriter, why string) {
	http.Error(w, "Forbidden: "+why+".", http.StatusForbidden)
}

// live returns what a page needs to follow changes.
func (s *Server) live(r *http.Request) *report.Live {
	nonce, _ := r.Context().Value(nonceKey{}).(string)
	return &report.Live{Events: s.link("/events"), Nonce: nonce, Back: s.link("/")}
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	jobs, _ := s.jobs.List()
	address := func(job *v1alpha1.TrainingJob) string {
		return s.link("/job/" + url.PathEscape(job.Namespace) + "/" + url.PathEscape(job.Name))
	}
	var page bytes.Buffer
	err := report.List(&page, jobs, s.now(), address, s.live(r))
	s.show(w, &page, err)
}

func (s *Server) job(w http.ResponseWriter, r *http.Request) {
	var page bytes.Buffer
	made, err := s.jobs.Report(r.Context(), r.PathValue("namespace"), r.PathValue("name"))
	if err == nil {
		err = made.HTML(&page, s.live(r))
	}
	s.show(w, &page, err)
}

// show sends a page, or the reason why there is none. A page is complete before its first byte is sent.
func (s *Server) show(w http.ResponseWriter, page *bytes.Buffer, err error) {
	switch {
	case errors.Is(err, ErrUnknown):
		http.Error(w, s.jobs.Explain(err), http.StatusNotFound)
	case err != nil:
		http.Error(w, s.jobs.Explain(err), http.StatusBadGateway)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page.Bytes())
	}
}

// events notifies a page that it is old: after a change, and from time to time.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	for {
		_, changed := s.jobs.List()
		if err := flush.Flush(); err != nil {
			return
		}
		if !pause(r.Context(), s.gap, nil) || !pause(r.Context(), s.beat, changed) {
			return
		}
		if _, err := fmt.Fprint(w, "data: changed\n\n"); err != nil {
			return
		}
	}
}

// pause waits for so long, or until changed is closed; it returns false if the context ends first.
func pause(ctx context.Context, d time.Duration, changed <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-timer.C:
	}
	return true
}
