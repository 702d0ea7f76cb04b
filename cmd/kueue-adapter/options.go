package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	_ "sigs.k8s.io/kueue/pkg/features" // the gates that --feature-gates sets
)

// options are the adapter's flags.
type options struct {
	kubeconfig              string
	leaderElect             bool
	leaderElectionNamespace string
	metricsAddress          string
	metricsSecure           bool
	metricsCertDir          string
	healthAddress           string
	waitForPodsReady        bool
	featureGates            string
	logLevel                string
	logFormat               string
}

func defaults() *options {
	return &options{metricsAddress: ":8443", metricsSecure: true, healthAddress: ":8081", logLevel: "info", logFormat: "json"}
}

func (o *options) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig, "path of a kubeconfig file; empty uses KUBECONFIG or the pod's service account")
	f.BoolVar(&o.leaderElect, "leader-elect", o.leaderElect, "take turns with other replicas of the adapter: only the leader acts")
	f.StringVar(&o.leaderElectionNamespace, "leader-election-namespace", o.leaderElectionNamespace, "namespace of the leader's Lease; empty means the pod's own, needed outside a cluster")
	f.StringVar(&o.metricsAddress, "metrics-bind-address", o.metricsAddress, "address of /metrics; 0 turns it off")
	f.BoolVar(&o.metricsSecure, "metrics-secure", o.metricsSecure, "serve /metrics over HTTPS to callers that may GET the URL /metrics; false serves it over HTTP to all callers")
	f.StringVar(&o.metricsCertDir, "metrics-cert-dir", o.metricsCertDir, "folder with tls.crt and tls.key for /metrics, read again when they change; empty creates a self-signed certificate")
	f.StringVar(&o.healthAddress, "health-probe-bind-address", o.healthAddress, "address of /healthz and /readyz; 0 turns them off")
	f.BoolVar(&o.waitForPodsReady, "wait-for-pods-ready", o.waitForPodsReady, "report to Kueue when all replicas run; set it if Kueue's configuration has waitForPodsReady, which else evicts every job")
	f.StringVar(&o.featureGates, "feature-gates", o.featureGates, "Kueue's feature gates, as Kueue itself has them: PriorityBoost=true lets a job that has not saved for long be preempted last. Empty means Kueue's defaults")
	f.StringVar(&o.logLevel, "log-level", o.logLevel, "debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", o.logFormat, "json or text")
}

// validate sets the feature gates, and returns an error with a correction.
func (o *options) validate() error {
	var level slog.Level
	switch {
	case level.UnmarshalText([]byte(o.logLevel)) != nil:
		return fmt.Errorf("--log-level %q: write debug, info, warn or error", o.logLevel)
	case o.logFormat != "json" && o.logFormat != "text":
		return fmt.Errorf("--log-format %q: write json or text", o.logFormat)
	}
	if o.featureGates != "" {
		if err := utilfeature.DefaultMutableFeatureGate.Set(o.featureGates); err != nil {
			return fmt.Errorf("--feature-gates %q: %w", o.featureGates, err)
		}
	}
	return o.validateCertificate()
}

// validateCertificate returns an error if the folder of the certificate lacks a file: the metrics server would fall back to a self-signed
// one.
func (o *options) validateCertificate() error {
	if o.metricsCertDir == "" {
		return nil
	}
	for _, file := range []string{"tls.crt", "tls.key"} {
		if _, err := os.Stat(filepath.Join(o.metricsCertDir, file)); err != nil {
			return fmt.Errorf("--metrics-cert-dir %s: it has no %s", o.metricsCertDir, file)
		}
	}
	return nil
}

func (o *options) logger() logr.Logger {
	level := new(slog.LevelVar)
	_ = level.UnmarshalText([]byte(o.logLevel)) // validated
	handlerOptions := &slog.HandlerOptions{Level: level}
	if o.logFormat == "text" {
		return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, handlerOptions))
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, handlerOptions))
}
