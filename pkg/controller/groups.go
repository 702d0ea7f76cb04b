package controller

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cluster"
	"github.com/trainingjob/operator/pkg/gang"
)

// groupPollPeriod is how often the operator checks whether the cluster now serves further pod groups.
const groupPollPeriod = 15 * time.Second

// groupWatcher watches the pod groups of every gang scheduler that the cluster has, from when it has them.
type groupWatcher struct {
	mgr        manager.Manager
	controller controller.Controller
	cluster    *cluster.Cluster
	missing    []gang.Provider
}

// watchGroups returns a watcher of the pod groups that the cluster has now; it polls for the others once it is started.
func watchGroups(ctx context.Context, mgr manager.Manager, controller controller.Controller, cluster *cluster.Cluster) (*groupWatcher, error) {
	w := &groupWatcher{mgr: mgr, controller: controller, cluster: cluster, missing: gang.Providers}
	return w, w.watchServed(ctx)
}

// Start implements manager.Runnable. It returns an error if a watch cannot be added.
func (w *groupWatcher) Start(ctx context.Context) error {
	return ignoreEnd(ctx, wait.PollUntilContextCancel(ctx, groupPollPeriod, true, func(ctx context.Context) (bool, error) {
		err := w.watchServed(ctx)
		return len(w.missing) == 0, err
	}))
}

// watchServed watches the pod groups that the cluster has and had not before, and to which the operator has a right: without it the
// controller would wait for its cache for ever.
func (w *groupWatcher) watchServed(ctx context.Context) error {
	var still []gang.Provider
	for _, provider := range w.missing {
		group, _ := provider.Empty()
		if !w.isServed(group) || w.cluster.MayList(ctx, provider) != nil {
			still = append(still, provider)
			continue
		}
		owner := handler.EnqueueRequestForOwner(w.mgr.GetScheme(), w.mgr.GetRESTMapper(), &v1alpha1.TrainingJob{}, handler.OnlyControllerOwner())
		if err := w.controller.Watch(source.Kind(w.mgr.GetCache(), client.Object(group), owner)); err != nil {
			return fmt.Errorf("watching the pod groups of %s: %w", provider.Name(), err)
		}
		w.cluster.Serve(provider.Name())
		w.mgr.GetLogger().Info("the cluster serves pod groups", "gang", provider.Name())
	}
	w.missing = still
	return nil
}

// isServed reports whether the cluster has objects of that kind.
func (w *groupWatcher) isServed(o client.Object) bool {
	kind, err := apiutil.GVKForObject(o, w.mgr.GetScheme())
	if err != nil {
		return false
	}
	_, err = w.mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	return err == nil
}

// ignoreEnd returns nil for the error of a wait that ended because the operator stops.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
