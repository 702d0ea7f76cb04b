package outage

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

// apiServer is an API server that can be away: its address then refuses connections.
type apiServer struct {
	address string
	server  *httptest.Server
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	a := &apiServer{address: freeAddress(t)}
	t.Cleanup(a.goAway)
	return a
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// comeBack makes the address answer /readyz with a status and a text, and other paths with 404.
func (a *apiServer) comeBack(t *testing.T, status int, text string) {
	t.Helper()
	a.serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	})
}

// serve makes the address answer.
func (a *apiServer) serve(t *testing.T, handler http.HandlerFunc) {
	t.Helper()
	a.goAway()
	listener, err := net.Listen("tcp", a.address)
	if err != nil {
		t.Fatal(err)
	}
	a.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	a.server.Start()
}

func (a *apiServer) goAway() {
	if a.server != nil {
		a.server.Close()
		a.server = nil
	}
}

func (a *apiServer) seen(t *testing.T, log logr.Logger) *Server {
	t.Helper()
	s, err := New(&rest.Config{Host: "http://" + a.address}, log)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lines collects what is logged.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) logger() logr.Logger {
	return funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, args)
	}, funcr.Options{})
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

// eventually fails unless the condition comes true within ten seconds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !condition(); {
		if time.Now().After(end) {
			t.Fatalf("not within 10 s: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func get(url string) (int, string) {
	response, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

// A CRD that was applied a moment ago is not served yet: the program waits for it, and names it.
func TestAProgramWaitsForTheCRD(t *testing.T) {
	api, health := newAPIServer(t), freeAddress(t)
	var isServed atomic.Bool
	api.serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" && !isServed.Load() {
			http.NotFound(w, r)
		}
	})
	server := api.seen(t, logr.Discard())
	server.Needs("trainingjob.dev/v1alpha1")
	done := make(chan error, 1)
	go func() { done <- server.Wait(t.Context(), health) }()
	eventually(t, "it is not ready, and names the CRD", func() bool {
		code, why := get("http://" + health + "/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(why, "it does not serve trainingjob.dev/v1alpha1 yet (status 404): apply the CRD")
	})
	isServed.Store(true)
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits on although the CRD is served")
	}
}

func TestAProgramWaitsForAnAPIServerThatIsAwayAndThenForOneThatIsNotReady(t *testing.T) {
	api, logged, health := newAPIServer(t), &lines{}, freeAddress(t)
	done := make(chan error, 1)
	go func() { done <- api.seen(t, logged.logger()).Wait(t.Context(), health) }()

	eventually(t, "it is alive and not ready, and names the refused connection", func() bool {
		alive, _ := get("http://" + health + "/healthz")
		ready, why := get("http://" + health + "/readyz")
		return alive == http.StatusOK && ready == http.StatusServiceUnavailable && strings.Contains(why, api.address) && strings.Contains(why, "refused")
	})
	eventually(t, "the log names what it waits for", func() bool {
		return strings.Contains(logged.String(), "waiting for the API server") && strings.Contains(logged.String(), api.address)
	})

	api.comeBack(t, http.StatusInternalServerError, "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed")
	eventually(t, "it names the check that fails, and no other", func() bool {
		_, why := get("http://" + health + "/readyz")
		return strings.Contains(why, "etcd failed") && !strings.Contains(why, "ping")
	})
	select {
	case err := <-done:
		t.Fatalf("it goes on although the API server is not ready, error %v", err)
	default:
	}

	api.comeBack(t, http.StatusOK, "ok")
	if err := <-done; err != nil {
		t.Error(err)
	}
	listener, err := net.Listen("tcp", health)
	if err != nil {
		t.Fatalf("the address of the probes is not free for the manager: %v", err)
	}
	_ = listener.Close()
}

// The API server has a certificate of a new authority, which the kubelet writes into the pod a minute later.
func TestAProgramThatWaitsFindsTheNewCA(t *testing.T) {
	api := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(api.Close)
	file, logged := filepath.Join(t.TempDir(), "ca.crt"), &lines{}
	write := func(authority []byte) {
		t.Helper()
		if err := os.WriteFile(file, authority, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	former, _, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(former)
	config := &rest.Config{Host: api.URL, TLSClientConfig: rest.TLSClientConfig{CAFile: file}}
	s, err := New(config, logged.logger())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Wait(t.Context(), "") }()
	eventually(t, "the log names the unknown authority", func() bool { return strings.Contains(logged.String(), "unknown authority") })
	write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw}))
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits on although the file has the new authority")
	}
	if _, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerVersion(); err != nil && strings.Contains(err.Error(), "authority") {
		t.Errorf("what the program builds afterwards has the former authority: %v", err)
	}
}

func TestAProgramDoesNotWaitForAnAPIServerThatAnswers(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound} {
		api, logged := newAPIServer(t), &lines{}
		api.comeBack(t, status, "")
		if err := api.seen(t, logged.logger()).Wait(t.Context(), "no address"); err != nil || logged.String() != "" {
			t.Errorf("status %d: error %v, logged %s", status, err, logged)
		}
	}
}

// An API server that has just started refuses every request until it has read its roles: a program that goes on ends with an error.
func TestAProgramWaitsForAnAPIServerThatRefusesEverything(t *testing.T) {
	api, logged := newAPIServer(t), &lines{}
	api.serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	done := make(chan error, 1)
	go func() { done <- api.seen(t, logged.logger()).Wait(t.Context(), "0") }()
	eventually(t, "the log names the refusal", func() bool { return strings.Contains(logged.String(), "it refuses discovery: status 403") })
	select {
	case err := <-done:
		t.Fatalf("it goes on although the API server refuses everything, error %v", err)
	default:
	}
	api.comeBack(t, http.StatusForbidden, "") // it hides its readiness, and answers other requests
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newAPIServer(t).seen(t, logr.Discard()).Wait(ctx, "0"); err != nil {
		t.Error(err)
	}
}

// A request that fails makes Start ask; without one it sends nothing.
func TestARunningProgramEndsWhenNothingAnswersForLongerThanItsPatience(t *testing.T) {
	api := newAPIServer(t)
	s := api.seen(t, logr.Discard())
	s.patience = 0
	done := make(chan error, 1)
	go func() { done <- s.Start(t.Context()) }()
	client := http.Client{Transport: s.Wrap(http.DefaultTransport)}

	api.comeBack(t, http.StatusInternalServerError, "")
	s.failed <- struct{}{}
	eventually(t, "one failed request is looked into", func() bool { return len(s.failed) == 0 })
	response, err := client.Get("http://" + api.address)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	select {
	case err := <-done:
		t.Fatalf("it ends although the API server answers: %v", err)
	default:
	}

	api.goAway()
	if response, err := client.Get("http://" + api.address); err == nil {
		_ = response.Body.Close()
		t.Fatal("the API server is away and answers")
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), api.address) {
		t.Errorf("it ends with error %v", err)
	}
}

func TestARunningProgramEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newAPIServer(t).seen(t, logr.Discard())
	s.failed <- struct{}{}
	cancel()
	if err := s.Start(ctx); err != nil {
		t.Error(err)
	}
}
