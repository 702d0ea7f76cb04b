package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/gang"
	"github.com/trainingjob/operator/pkg/state"
)

// addGang puts the job's pod groups into what is observed: those of the scheduler that it asks for, and those that another has
// left behind. A cluster that does not serve such groups is no error: it may serve them the next time.
func (c *Cluster) addGang(ctx context.Context, o *state.Observed) error {
	o.Gang.Scheduler = c.options.Gang
	if scheduling := o.Job.Spec.Scheduling; scheduling != nil {
		o.Gang.Scheduler = cmp.Or(scheduling.Gang, o.Gang.Scheduler)
	}
	for _, provider := range gang.Providers {
		asked := provider.Name() == o.Gang.Scheduler
		if !asked && !c.serves(provider.Name()) {
			continue
		}
		err := c.addGroups(ctx, o, provider)
		switch {
		case meta.IsNoMatchError(err) && asked:
			o.Gang.Unavailable = c.unavailable(provider)
		case err != nil && !meta.IsNoMatchError(err):
			return fmt.Errorf("listing the pod groups of %s: %w", provider.Name(), err)
		}
	}
	return nil
}

// addGroups puts the job's pod groups of one scheduler into what is observed. It does not wait for own writes: the client would wait
// for those of all jobs, and one may hang. So pods join a group only after the API server has confirmed it.
func (c *Cluster) addGroups(ctx context.Context, o *state.Observed, provider gang.Provider) error {
	_, list := provider.Empty()
	err := c.client.List(ctx, list, client.InNamespace(o.Job.Namespace), client.MatchingLabels{v1alpha1.LabelJobUID: string(o.Job.UID)},
		client.DisableReadYourWritesConsistency)
	if err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		if group, isObject := item.(client.Object); isObject && isControlledBy(group, o.Job) {
			g := state.Group{Scheduler: provider.Name(), Name: group.GetName(), UID: group.GetUID(), Deleted: group.GetDeletionTimestamp() != nil}
			g.Minimum, g.Waiting = provider.Read(group)
			g.Waiting.Message = state.Printable(g.Waiting.Message)
			o.Gang.Groups = append(o.Gang.Groups, g)
		}
		return nil
	})
}

// Serve says that the cluster has that scheduler's pod groups: from now on every job is asked for its own among them. To find
// it out for each job would be a request each time where there are none.
func (c *Cluster) Serve(scheduler v1alpha1.Gang) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served = append(c.served, scheduler)
}

func (c *Cluster) serves(scheduler v1alpha1.Gang) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.served, scheduler)
}

// unavailable says what the cluster lacks.
func (c *Cluster) unavailable(provider gang.Provider) string {
	empty, _ := provider.Empty()
	kind, err := apiutil.GVKForObject(empty, c.client.Scheme())
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("The cluster does not serve %s of %s, which scheduling.gang: %s needs: install or enable it, or write another gang.",
		kind.Kind, kind.GroupVersion(), provider.Name())
}
