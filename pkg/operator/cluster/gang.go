package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/gang"
	"github.com/trainingjob/operator/pkg/job/state"
)

// addGang adds the job's pod groups to the observed state: the groups of its scheduler, and groups that another scheduler has
// left behind. A cluster without such groups is no error: it may serve them later.
func (c *Cluster) addGang(ctx context.Context, o *state.Observed) error {
	o.Gang.Scheduler = c.options.Gang
	if scheduling := o.Job.Spec.Scheduling; scheduling != nil {
		o.Gang.Scheduler = cmp.Or(scheduling.Gang, o.Gang.Scheduler)
	}
	c.mu.Lock()
	all := slices.Clone(c.gangs)
	c.mu.Unlock()
	for _, provider := range gang.Providers {
		wanted, isServed := provider.Name() == o.Gang.Scheduler, slices.Contains(all, provider.Name())
		if !wanted && !isServed {
			continue
		}
		var err error
		if !isServed { // a cached list would wait for a watch that the API server refuses
			err = c.MayList(ctx, provider)
		}
		if err == nil {
			err = c.addGroups(ctx, o, provider)
		}
		switch {
		case IsUnavailable(err) && wanted:
			o.Gang.Unavailable = c.unavailable(provider, err)
		case err != nil && !IsUnavailable(err):
			return fmt.Errorf("listing the pod groups of %s: %w", provider.Name(), err)
		}
	}
	return nil
}

// addGroups adds the job's pod groups of one scheduler to the observed state. It does not wait for own writes: the client would
// wait for the writes of all jobs, and one may hang. So pods join a group only after the API server has confirmed it.
func (c *Cluster) addGroups(ctx context.Context, o *state.Observed, provider gang.Provider) error {
	_, list := provider.Empty()
	err := c.client.List(ctx, list, client.InNamespace(o.Job.Namespace), client.MatchingLabels{v1alpha1.LabelJobUID: string(o.Job.UID)},
		client.DisableReadYourWritesConsistency)
	if err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		if group, isObject := item.(client.Object); isObject && state.IsOwnedBy(group, o.Job) {
			g := state.Group{Scheduler: provider.Name(), Name: group.GetName(), UID: group.GetUID()}
			if deleted := group.GetDeletionTimestamp(); deleted != nil {
				g.Deleted = deleted.Time
			}
			g.Minimum, g.Waiting = provider.Read(group)
			g.Waiting.Message = state.Printable(g.Waiting.Message)
			o.Gang.Groups = append(o.Gang.Groups, g)
		}
		return nil
	})
}

// Serve records that the cluster has that scheduler's pod groups. From now on each job's groups are listed. Without this record
// each job would cost a request where no groups exist.
func (c *Cluster) Serve(scheduler v1alpha1.Gang) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gangs = append(c.gangs, scheduler)
}

// MayList lists one pod group in each namespace from the API server. It returns an error for which IsUnavailable is true if the
// cluster does not serve such groups or the operator has no right to them.
func (c *Cluster) MayList(ctx context.Context, provider gang.Provider) error {
	for _, namespace := range c.namespaces() {
		_, list := provider.Empty()
		if err := c.live.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); err != nil {
			return err
		}
	}
	return nil
}

// IsUnavailable reports whether the error of MayList lasts until an administrator changes the cluster.
func IsUnavailable(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
}

// components maps each scheduler to the component of manifests with the right to its pod groups.
var components = map[v1alpha1.Gang]string{
	v1alpha1.GangNative: "native-gang", v1alpha1.GangVolcano: "volcano", v1alpha1.GangCoscheduling: "coscheduling",
}

// remedies maps each scheduler to what makes the cluster serve its pod groups.
var remedies = map[v1alpha1.Gang]string{
	v1alpha1.GangNative: "run Kubernetes 1.37 with the feature gate GenericWorkload in API server and scheduler, and the API server with " +
		"--runtime-config=scheduling.k8s.io/v1beta1=true",
	v1alpha1.GangVolcano:      "install Volcano",
	v1alpha1.GangCoscheduling: "install scheduler-plugins",
}

// unavailable describes what the cluster or the operator lacks.
func (c *Cluster) unavailable(provider gang.Provider, reason error) string {
	empty, _ := provider.Empty()
	kind, err := apiutil.GVKForObject(empty, c.client.Scheme())
	if err != nil {
		return err.Error()
	}
	if apierrors.IsForbidden(reason) {
		return fmt.Sprintf("The operator has no right to %s of %s, which scheduling.gang: %s needs: apply manifests/components/%s, or choose another gang.",
			kind.Kind, kind.GroupVersion(), provider.Name(), components[provider.Name()])
	}
	return fmt.Sprintf("The cluster does not serve %s of %s, which scheduling.gang: %s needs: %s, or choose another gang.",
		kind.Kind, kind.GroupVersion(), provider.Name(), remedies[provider.Name()])
}
