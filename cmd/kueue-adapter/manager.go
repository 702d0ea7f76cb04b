package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/features"
	kueuemetrics "sigs.k8s.io/kueue/pkg/metrics"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/operator/intake"
	"github.com/trainingjob/operator/pkg/operator/outage"
)

// name of the leader's Lease, and of the source of Events.
const name = "trainingjob-kueue-adapter"

// concurrentJobs is how many jobs are worked on at the same time. Each costs a few requests when it changes its state.
const concurrentJobs = 16

// newManager returns a manager that runs Kueue's job controller for TrainingJobs when it is started.
func newManager(ctx context.Context, o *options, server *outage.Server) (manager.Manager, error) {
	restConfig, err := o.restConfig()
	if err != nil {
		return nil, err
	}
	restConfig.Wrap(server.Wrap)
	managerOptions, err := o.managerOptions()
	if err != nil {
		return nil, err
	}
	guarded := intake.New(managerOptions.Scheme, ctrl.Log.WithName("intake"))
	guarded.Guard(restConfig, &managerOptions.Cache)
	mgr, err := ctrl.NewManager(restConfig, managerOptions)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	if err := setUp(ctx, mgr, o.waitForPodsReady); err != nil {
		return nil, fmt.Errorf("setting up the controller: %w", err)
	}
	checks := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), guarded.AddTo(mgr, name), mgr.AddReadyzCheck("cache", cacheSynced(mgr)))
	if checks != nil {
		return nil, fmt.Errorf("adding health checks: %w", checks)
	}
	return mgr, mgr.Add(server)
}

// apiServer returns the API server of the flags, which the adapter waits for before it builds a manager.
func (o *options) apiServer(log logr.Logger) (*outage.Server, error) {
	restConfig, err := o.restConfig()
	if err != nil {
		return nil, err
	}
	return outage.New(restConfig, log)
}

// setUp adds the controllers of queue messages and, if the gate is on, of priority boosts, and Kueue's generic job controller, which calls
// trainingJob.
func setUp(ctx context.Context, mgr manager.Manager, waitForPodsReady bool) error {
	if err := jobframework.SetupWorkloadOwnerIndex(ctx, mgr.GetFieldIndexer(), gvk); err != nil {
		return err
	}
	var how []jobframework.Option
	if waitForPodsReady {
		// The controller reads from Kueue's cache which queues have metrics: none in this process.
		empty := schdcache.New(mgr.GetClient(), schdcache.WithLocalQueueMetrics(&kueuemetrics.LocalQueueMetricsConfig{}))
		how = append(how, jobframework.WithWaitForPodsReady(&configapi.WaitForPodsReady{}), jobframework.WithCache(empty))
	}
	factory := jobframework.NewGenericReconcilerFactory(newJob)
	generic, err := factory(ctx, mgr.GetClient(), mgr.GetFieldIndexer(), mgr.GetEventRecorder(name), how...)
	if err != nil {
		return err
	}
	if err := setUpJobs(mgr, generic); err != nil {
		return err
	}
	if features.Enabled(features.PriorityBoost) {
		if err := setUpPriorityBoosts(mgr); err != nil {
			return err
		}
	}
	return setUpQueueMessages(mgr)
}

func (o *options) restConfig() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	restConfig, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w; set --kubeconfig or run in a pod", err)
	}
	restConfig.UserAgent = name + "/" + version
	restConfig.QPS = -1 // the server's priority and fairness is the limit
	return restConfig, nil
}

func (o *options) managerOptions() (manager.Options, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), kueue.AddToScheme(scheme)); err != nil {
		return manager.Options{}, fmt.Errorf("registering types: %w", err)
	}
	return manager.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions(),
		Metrics:                       o.metricsOptions(),
		HealthProbeBindAddress:        o.healthAddress,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              name,
		LeaderElectionNamespace:       o.leaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		// a kind that cannot be listed makes the adapter unready, which names it, and ends nothing
		Controller: config.Controller{MaxConcurrentReconciles: concurrentJobs, CacheSyncTimeout: math.MaxInt64},
	}, nil
}

// metricsOptions returns how /metrics is served. HTTP/2 is off: a caller could open streams before the check of its token.
func (o *options) metricsOptions() metricsserver.Options {
	metrics := metricsserver.Options{
		BindAddress: o.metricsAddress, SecureServing: o.metricsSecure, CertDir: o.metricsCertDir,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }},
	}
	if o.metricsSecure {
		metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return metrics
}

// cacheSynced reports ready once the caches are filled, so that a rollout waits for a replica that can take over.
func cacheSynced(mgr manager.Manager) healthz.Checker {
	return func(req *http.Request) error {
		if !mgr.GetCache().WaitForCacheSync(req.Context()) {
			return errors.New("the cache is not filled yet")
		}
		return nil
	}
}
