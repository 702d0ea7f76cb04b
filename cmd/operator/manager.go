package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	coschedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/kubeflow/jobset"
	"github.com/trainingjob/operator/pkg/kubeflow/serve"
	"github.com/trainingjob/operator/pkg/operator/cluster"
	"github.com/trainingjob/operator/pkg/operator/controller"
	"github.com/trainingjob/operator/pkg/operator/intake"
	"github.com/trainingjob/operator/pkg/operator/outage"
)

// electionLease is the name of the leader's Lease.
const electionLease = "trainingjob-operator"

// newManager returns a manager that runs the TrainingJob controller when it is started.
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
	served, err := serve.ParseKinds(o.kubeflowKinds)
	if err != nil {
		return nil, err
	}
	cached := served
	if o.jobSets {
		cached = append(slices.Clone(served), serve.JobSet)
	}
	serve.AddToManager(&managerOptions, cached)
	guarded := intake.New(managerOptions.Scheme, ctrl.Log.WithName("intake"))
	guarded.Guard(restConfig, &managerOptions.Cache)
	mgr, err := ctrl.NewManager(restConfig, managerOptions)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	settings := o.controllerOptions()
	settings.Others = func(ctx context.Context) ([]v1alpha1.TrainingJob, error) {
		return serve.New(ctx, mgr.GetClient(), cached)
	}
	if err := controller.Setup(ctx, mgr, settings); err != nil {
		return nil, fmt.Errorf("setting up the controller: %w", err)
	}
	if err := serve.Setup(mgr, served, controller.EventSource, settings.Waiting, o.excluded()...); err != nil {
		return nil, err
	}
	if o.jobSets {
		if err := jobset.Setup(mgr, controller.EventSource, settings.Waiting, o.excluded()...); err != nil {
			return nil, err
		}
	}
	checks := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), guarded.AddTo(mgr, controller.EventSource), mgr.AddReadyzCheck("cache", cacheSynced(mgr)))
	if checks != nil {
		return nil, fmt.Errorf("adding health checks: %w", checks)
	}
	return mgr, mgr.Add(server)
}

// apiServer returns the API server of the flags, which the operator waits for before it builds a manager.
func (o *options) apiServer(log logr.Logger) (*outage.Server, error) {
	restConfig, err := o.restConfig()
	if err != nil {
		return nil, err
	}
	server, err := outage.New(restConfig, log)
	if err == nil {
		server.Needs(v1alpha1.GroupVersion.String())
	}
	return server, err
}

func (o *options) restConfig() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	restConfig, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w; set --kubeconfig or run in a pod", err)
	}
	restConfig.UserAgent = "trainingjob-operator/" + version
	restConfig.QPS = -1
	if o.qps > 0 {
		restConfig.QPS, restConfig.Burst = o.qps, int(2*o.qps)+1
	}
	if o.leaderElect {
		held := &lease{lasts: o.renewDeadline}
		restConfig.Wrap(func(next http.RoundTripper) http.RoundTripper { return leaseGuard{next, held} })
	}
	return restConfig, nil
}

func (o *options) managerOptions() (manager.Options, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), volcanov1beta1.AddToScheme(scheme), coschedulingv1alpha1.AddToScheme(scheme)); err != nil {
		return manager.Options{}, fmt.Errorf("registering types: %w", err)
	}
	cacheOptions, err := cluster.CacheOptions(o.namespaces, o.clusterOptions().Signals)
	if err != nil {
		return manager.Options{}, fmt.Errorf("configuring the cache: %w", err)
	}
	yes := true
	return manager.Options{
		Scheme: scheme,
		Cache:  cacheOptions,
		Client: client.Options{Cache: &client.CacheOptions{
			EnableReadYourWritesConsistency: &yes,
			DisableFor:                      []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}},
		}},
		Metrics:                       o.metricsOptions(),
		HealthProbeBindAddress:        o.healthAddress,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              electionLease,
		LeaderElectionNamespace:       o.leaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.leaseDuration,
		RenewDeadline:                 &o.renewDeadline,
		RetryPeriod:                   &o.retryPeriod,
		// a kind that cannot be listed makes the operator unready, which names it, and ends nothing
		Controller: config.Controller{EnableWarmup: &yes, CacheSyncTimeout: math.MaxInt64},
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
