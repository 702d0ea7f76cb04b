package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTheOperatorWaitsForItsAPIServer: an operator that ends at once is put into the kubelet's back-off, which outlasts the outage.
func TestTheOperatorWaitsForItsAPIServer(t *testing.T) {
	health := freeAddress(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: \"http://" + freeAddress(t) + "\"}}]}"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		cmd := command()
		cmd.SetArgs([]string{"--kubeconfig", kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address", health})
		ended <- cmd.ExecuteContext(ctx)
	}()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		ready, why := probe("http://" + health + "/readyz")
		if alive, _ := probe("http://" + health + "/healthz"); alive == http.StatusOK && ready == http.StatusServiceUnavailable && strings.Contains(why, "API server") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after 10 s it does not answer as alive and not ready; /readyz has %d %s", ready, why)
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("it ended without an API server: %v", err)
	default:
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("told to end, it fails: %v", err)
	}
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

// probe returns the status and the text that an address answers; 0 if it does not.
func probe(url string) (int, string) {
	response, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}
