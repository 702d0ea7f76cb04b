package main

import (
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// handshake serves the metrics as the options say, and returns what a caller that prefers HTTP/2 is offered.
func handshake(t *testing.T, o *options) tls.ConnectionState {
	t.Helper()
	o.metricsAddress = "127.0.0.1:0"
	metrics := o.metricsOptions()
	metrics.FilterProvider = nil // it would ask an API server
	served, err := server.NewServer(metrics, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- served.Start(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	bound, hasAddress := served.(interface{ GetBindAddr() string })
	if !hasAddress {
		t.Fatal("the server does not say where it listens")
	}
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}}} //#nosec G402 -- the certificate is what the test looks at
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if bound.GetBindAddr() == "" {
			continue
		}
		connection, err := dialer.DialContext(ctx, "tcp", bound.GetBindAddr())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = connection.Close() }()
		return connection.(*tls.Conn).ConnectionState()
	}
	t.Fatal("the metrics are not served")
	return tls.ConnectionState{}
}

func TestMetricsAreServedByHTTP1(t *testing.T) {
	if got := handshake(t, defaults()).NegotiatedProtocol; got == "h2" {
		t.Error("a caller is offered HTTP/2, whose streams cost nobody but the server")
	}
}

func TestMetricsHaveTheCertificateOfTheirFolder(t *testing.T) {
	folder := t.TempDir()
	certificate, key, err := certutil.GenerateSelfSignedCertKey("metrics.test", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := defaults()
	o.metricsCertDir = folder
	write("tls.crt", certificate)
	want := "--metrics-cert-dir " + folder + ": it has no tls.key"
	if err := o.validate(); err == nil || err.Error() != want {
		t.Errorf("without a key: %v, want %s", err, want)
	}
	write("tls.key", key)
	if err := o.validate(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"metrics.test"}, handshake(t, o).PeerCertificates[0].DNSNames); diff != "" {
		t.Errorf("names in the certificate (-want +got):\n%s", diff)
	}
}
