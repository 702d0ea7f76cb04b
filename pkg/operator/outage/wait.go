package outage

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Wait returns nil once the API server is ready and serves what the program needs, or when the context ends. Until then it logs what it waits for and serves health probes at the
// address; 0 or nothing serves none. It returns an error if the address cannot be listened on.
func (s *Server) Wait(ctx context.Context, healthAddress string) error {
	err := s.ready(ctx)
	if err == nil {
		return nil
	}
	probes := &probes{}
	probes.set(s.config.Host, err)
	stop, err := probes.serve(healthAddress)
	if err != nil {
		return err
	}
	defer stop()
	s.poll(ctx, probes)
	return nil
}

// poll returns once the API server is ready or the context ends.
func (s *Server) poll(ctx context.Context, probes *probes) {
	begin := time.Now()
	var logged time.Time
	for {
		err := s.ready(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			s.log.Info("the API server is ready", "server", s.config.Host, "waited", time.Since(begin).Round(time.Second).String())
			return
		case time.Since(logged) >= logEvery:
			logged = time.Now()
			s.log.Info("waiting for the API server", "server", s.config.Host, "waited", time.Since(begin).Round(time.Second).String(), "error", err.Error())
		}
		probes.set(s.config.Host, err)
		if !pause(ctx, pollEvery) {
			return
		}
	}
}

// probes answers health probes while the program waits: it is alive, and not ready.
type probes struct{ reason atomic.Value }

func (p *probes) set(host string, err error) {
	p.reason.Store(fmt.Sprintf("waiting for the API server at %s: %v", host, err))
}

// serve answers at the address until the returned function is called.
func (p *probes) serve(address string) (stop func(), err error) {
	if address == "" || address == "0" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serving health probes: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, p.reason.Load().(string), http.StatusServiceUnavailable)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: answerWithin}
	go func() { _ = server.Serve(listener) }() // it ends when the server is closed
	return func() { _ = server.Close() }, nil
}
