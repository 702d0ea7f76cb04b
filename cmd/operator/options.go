package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/gang"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/kubeflow/serve"
	"github.com/trainingjob/operator/pkg/operator/cluster"
	"github.com/trainingjob/operator/pkg/operator/controller"
	"github.com/trainingjob/operator/pkg/operator/progress"
)

// options are the operator's flags.
type options struct {
	kubeconfig              string
	namespaces              []string
	excludedNamespaces      []string
	leaderElect             bool
	leaderElectionNamespace string
	leaseDuration           time.Duration
	renewDeadline           time.Duration
	retryPeriod             time.Duration
	metricsAddress          string
	metricsSecure           bool
	metricsCertDir          string
	jobMetrics              bool
	healthAddress           string
	concurrentJobs          int
	watchNodes              bool
	keepEndedPods           bool
	nodeLostAfter           time.Duration
	maxCheckpointWait       time.Duration
	forbiddenPagePorts      []string
	lostNodeTaints          []string
	nodeSignals             []string
	gang                    string
	kubeflowKinds           []string
	jobSets                 bool
	qps                     float32
	logLevel                string
	logFormat               string
}

func defaults() *options {
	return &options{
		excludedNamespaces: []string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease},
		metricsAddress:     ":8443", metricsSecure: true, healthAddress: ":8081",
		leaseDuration: 15 * time.Second, renewDeadline: 10 * time.Second, retryPeriod: 2 * time.Second,
		concurrentJobs: 64, watchNodes: true, keepEndedPods: true, nodeLostAfter: 15 * time.Second, maxCheckpointWait: 5 * time.Minute, gang: string(v1alpha1.GangNone), logLevel: "info", logFormat: "json",
	}
}

func (o *options) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig, "path of a kubeconfig file; empty uses KUBECONFIG or the pod's service account")
	f.StringSliceVar(&o.namespaces, "namespaces", o.namespaces, "run the jobs of these namespaces only, comma-separated; a RoleBinding in each then suffices. Empty means all namespaces")
	f.StringSliceVar(&o.excludedNamespaces, "exclude-namespaces", o.excludedNamespaces, "run no jobs in these namespaces, comma-separated, and in the operator's own; a job there gets an Event")
	f.BoolVar(&o.leaderElect, "leader-elect", o.leaderElect, "take turns with other replicas of the operator: only the leader acts")
	f.StringVar(&o.leaderElectionNamespace, "leader-election-namespace", o.leaderElectionNamespace, "namespace of the leader's Lease; empty means the pod's own, needed outside a cluster")
	f.DurationVar(&o.leaseDuration, "leader-elect-lease-duration", o.leaseDuration, "how long the others wait for a leader that does not renew its lease before one of them takes over")
	f.DurationVar(&o.renewDeadline, "leader-elect-renew-deadline", o.renewDeadline, "how long the leader tries to renew its lease before it stops acting; shorter than the lease")
	f.DurationVar(&o.retryPeriod, "leader-elect-retry-period", o.retryPeriod, "how long to wait between two tries to get or renew the lease; at most two thirds of the renew deadline")
	f.StringVar(&o.metricsAddress, "metrics-bind-address", o.metricsAddress, "address of /metrics; 0 turns it off")
	f.BoolVar(&o.metricsSecure, "metrics-secure", o.metricsSecure, "serve /metrics over HTTPS to callers that may GET the URL /metrics; false serves it over HTTP to all callers")
	f.StringVar(&o.metricsCertDir, "metrics-cert-dir", o.metricsCertDir, "folder with tls.crt and tls.key for /metrics, read again when they change; empty creates a self-signed certificate")
	f.BoolVar(&o.jobMetrics, "job-metrics", o.jobMetrics, "serve metrics of each job in addition: about 20 series a job, with its namespace and name as labels")
	f.StringVar(&o.healthAddress, "health-probe-bind-address", o.healthAddress, "address of /healthz and /readyz; 0 turns them off")
	f.IntVar(&o.concurrentJobs, "concurrent-jobs", o.concurrentJobs, "how many jobs are worked on at the same time, 1 to 256; one namespace holds at most half of them")
	f.BoolVar(&o.keepEndedPods, "keep-ended-pods", o.keepEndedPods, "keep the pods of ranks that have ended, so that a restart in place is one for them, too; kubelets before 1.35 end these pods all the same")
	f.BoolVar(&o.watchNodes, "watch-nodes", o.watchNodes, "notice nodes that are lost and replace their pods at once; false needs no right to read nodes, and waits until Kubernetes evicts")
	f.DurationVar(&o.nodeLostAfter, "node-lost-after", o.nodeLostAfter, "how long a node may be not ready before its pods count as lost, 1s to 1h")
	f.DurationVar(&o.maxCheckpointWait, "max-checkpoint-wait", o.maxCheckpointWait,
		"how long a job may save a checkpoint before it is suspended, restarted or drained, 0s to 1h: the bound of progress.checkpointGraceSeconds; 0s waits for no checkpoint")
	f.StringSliceVar(&o.forbiddenPagePorts, "forbidden-page-ports", o.forbiddenPagePorts,
		"ports of nodes at which no progress page is read, comma-separated, as 9100 or 9400-9410: for jobs with hostNetwork. 2379-2381, 6443 and 10248-10260 are always forbidden")
	f.StringSliceVar(&o.lostNodeTaints, "lost-node-taints", o.lostNodeTaints, "keys of taints that make a node's pods count as lost, comma-separated, beside "+corev1.TaintNodeOutOfService)
	f.StringSliceVar(&o.nodeSignals, "node-signals", o.nodeSignals, "actions for unhealthy nodes, in addition to the defaults or instead of them, comma-separated: condition:TYPE=ACTION, taint:KEY=ACTION or cordon=ACTION, with ACTION Lost (their pods count as lost at once), Blame (new pods stay off, and a failure there is not charged), Avoid (new pods stay off) or Ignore; none forgets the defaults, which docs/admins.md lists and the log shows")
	f.StringVar(&o.gang, "gang", o.gang, "default scheduler of gangs, for jobs without scheduling.gang: None, Native, Volcano or Coscheduling")
	f.StringSliceVar(&o.kubeflowKinds, "kubeflow-kinds", o.kubeflowKinds, "serve these kinds of Kubeflow's training operator v1, comma-separated: PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob. Install their CRDs first, and remove Kubeflow's operator. docs/migrating.md lists the limits")
	f.BoolVar(&o.jobSets, "jobsets", o.jobSets, "alpha: serve the JobSets that name "+v1alpha1.OperatorName+" in spec.managedBy, such as the JobSets of Trainer v2. Install JobSet first. docs/migrating.md lists the limits")
	f.Float32Var(&o.qps, "kube-api-qps", o.qps, "requests to the API server per second at most; 0 leaves the limit to the server's priority and fairness")
	f.StringVar(&o.logLevel, "log-level", o.logLevel, "debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", o.logFormat, "json or text")
}

// validate returns an error with a correction.
func (o *options) validate() error {
	var level slog.Level
	switch {
	case level.UnmarshalText([]byte(o.logLevel)) != nil:
		return fmt.Errorf("--log-level %q: write debug, info, warn or error", o.logLevel)
	case o.logFormat != "json" && o.logFormat != "text":
		return fmt.Errorf("--log-format %q: write json or text", o.logFormat)
	case o.concurrentJobs < 1 || o.concurrentJobs > 256:
		return fmt.Errorf("--concurrent-jobs %d: write a number from 1 to 256", o.concurrentJobs)
	case o.nodeLostAfter < time.Second || o.nodeLostAfter > time.Hour:
		return fmt.Errorf("--node-lost-after %v: write a time from 1s to 1h", o.nodeLostAfter)
	case o.maxCheckpointWait < 0 || o.maxCheckpointWait > time.Hour:
		return fmt.Errorf("--max-checkpoint-wait %v: write a time from 0s to 1h", o.maxCheckpointWait)
	case o.gang != string(v1alpha1.GangNone) && gang.For(v1alpha1.Gang(o.gang)) == nil:
		return fmt.Errorf("--gang %q: write None, Native, Volcano or Coscheduling", o.gang)
	case o.qps < 0:
		return fmt.Errorf("--kube-api-qps %v: write 0 for no limit, or a number above it", o.qps)
	}
	_, err := o.signals()
	if _, portsErr := progress.ParsePorts(o.forbiddenPagePorts); portsErr != nil {
		err = errors.Join(err, fmt.Errorf("--forbidden-page-ports %w", portsErr))
	}
	if _, kindsErr := serve.ParseKinds(o.kubeflowKinds); kindsErr != nil {
		err = errors.Join(err, fmt.Errorf("--kubeflow-kinds: %w", kindsErr))
	}
	return errors.Join(err, o.validateElection(), o.validateNamespaces(), o.validateCertificate())
}

func (o *options) validateElection() error {
	switch {
	case o.leaseDuration <= o.renewDeadline:
		return fmt.Errorf("--leader-elect-lease-duration %s: write more than --leader-elect-renew-deadline, %s", o.leaseDuration, o.renewDeadline)
	case o.retryPeriod <= 0 || o.retryPeriod*3 > o.renewDeadline*2: // client-go wants room for a retry with jitter
		return fmt.Errorf("--leader-elect-retry-period %s: write a time above 0 and at most two thirds of --leader-elect-renew-deadline, %s", o.retryPeriod, o.renewDeadline)
	default:
		return nil
	}
}

// signals returns the actions for signals of nodes: the defaults, --node-signals, and the taints of --lost-node-taints.
func (o *options) signals() (nodes.Signals, error) {
	signals, err := nodes.DefaultSignals().With(o.nodeSignals)
	if err != nil {
		return nil, fmt.Errorf("--node-signals %w", err)
	}
	for _, key := range o.lostNodeTaints {
		taint := nodes.Signal{Kind: nodes.TaintSignal, Name: key}
		saysBoth := func(entry string) bool { return strings.HasPrefix(entry, taint.String()+"=") }
		if slices.ContainsFunc(o.nodeSignals, saysBoth) {
			return nil, fmt.Errorf("--lost-node-taints %q: --node-signals also sets an action for this taint: name it once", key)
		}
		if signals, err = signals.With([]string{taint.String() + "=" + state.LoseNode.String()}); err != nil {
			return nil, fmt.Errorf("--lost-node-taints %q: write the key of a taint, as example.com/broken", key)
		}
	}
	return signals, nil
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

// controllerOptions returns what the flags say of the controller.
func (o *options) controllerOptions() controller.Options {
	return controller.Options{Concurrent: o.concurrentJobs, JobMetrics: o.jobMetrics, Version: version, Waiting: new(atomic.Int64), Cluster: o.clusterOptions()}
}

// clusterOptions returns what the flags say of jobs.
func (o *options) clusterOptions() cluster.Options {
	signals, _ := o.signals() // validated
	ports, _ := progress.ParsePorts(o.forbiddenPagePorts)
	return cluster.Options{
		Parallel: cluster.Parallelism, Namespaces: o.namespaces, Excluded: o.excluded(), WatchNodes: o.watchNodes, KeepsEnded: o.keepEndedPods, LostAfter: o.nodeLostAfter,
		MaxCheckpointWait: o.maxCheckpointWait, Signals: signals, Gang: v1alpha1.Gang(o.gang),
		Fence: progress.Fence{NodePorts: ports},
	}
}

// logAsString logs a value that has a String method as that string: JSON cannot encode the functions that watches consist of. All levels
// below INFO are DEBUG: slog has names for what lies between, as DEBUG+3.
func logAsString(_ []string, a slog.Attr) slog.Attr {
	if level, is := a.Value.Any().(slog.Level); is && a.Key == slog.LevelKey && level < slog.LevelInfo {
		return slog.String(slog.LevelKey, slog.LevelDebug.String())
	}
	if value, can := a.Value.Any().(fmt.Stringer); can && a.Value.Kind() == slog.KindAny {
		a.Value = slog.StringValue(value.String())
	}
	return a
}

func (o *options) logger() logr.Logger {
	level := new(slog.LevelVar)
	_ = level.UnmarshalText([]byte(o.logLevel)) // validated
	handlerOptions := &slog.HandlerOptions{Level: level, ReplaceAttr: logAsString}
	if o.logFormat == "text" {
		return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, handlerOptions))
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, handlerOptions))
}
