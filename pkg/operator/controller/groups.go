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
	"github.com/trainingjob/operator/pkg/job/gang"
	"github.com/trainingjob/operator/pkg/operator/cluster"
)

// groupPollPeriod is how often the watcher checks whether the cluster serves further pod groups.
const groupPollPeriod = 15 * time.Second

// groupWatcher watches the pod groups of every gang scheduler, from when the cluster serves them. Once started, it polls for the
// missing ones.
type groupWatcher struct {
	mgr        manager.Manager
	controller controller.Controller
	cluster    *cluster.Cluster
	missing    []gang.Provider
}

// Start implements manager.Runnable. It returns an error if a watch cannot be added.
func (w *groupWatcher) Start(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, groupPollPeriod, true, func(ctx context.Context) (bool, error) {
		err := w.watchServed(ctx)
		return len(w.missing) == 0, err
	})
	if ctx.Err() != nil { // the operator stops
		return nil
	}
	return err
}

// watchServed watches the pod groups that the cluster newly serves and that the operator may list. Without the right, the
// controller would wait for its cache for ever.
func (w *groupWatcher) watchServed(ctx context.Context) error {
	var still []gang.Provider
	for _, provider := range w.missing {
		group, _ := provider.Empty()
		if !w.isServed(group) || w.cluster.MayList(ctx, provider) != nil {
			still = append(still, provider)
			continue
		}
		owner := handler.EnqueueRequestForOwner(w.mgr.GetScheme(), w.mgr.GetRESTMapper(), &v1alpha1.TrainingJob{})
		if err := w.controller.Watch(source.Kind(w.mgr.GetCache(), client.Object(group), owner)); err != nil {
			return fmt.Errorf("watching the pod groups of %s: %w", provider.Name(), err)
		}
		w.cluster.Serve(provider.Name())
		w.mgr.GetLogger().Info("the cluster serves pod groups", "gang", provider.Name())
	}
	w.missing = still
	return nil
}

func (w *groupWatcher) isServed(o client.Object) bool {
	kind, err := apiutil.GVKForObject(o, w.mgr.GetScheme())
	if err != nil {
		return false
	}
	_, err = w.mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	return err == nil
}
