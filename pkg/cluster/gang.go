package cluster

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/gang"
	"github.com/trainingjob/operator/pkg/state"
)

// addGang puts the job's pod groups into the snapshot. That the cluster has no such groups is a fact like any other: it may
// have them the next time.
func (c *Cluster) addGang(ctx context.Context, s *state.Snapshot) error {
	s.Gang.Scheduler = c.options.Gang
	if scheduling := s.Job.Spec.Scheduling; scheduling != nil {
		s.Gang.Scheduler = cmp.Or(scheduling.Gang, s.Gang.Scheduler)
	}
	provider := gang.For(s.Gang.Scheduler)
	if provider == nil {
		return nil
	}
	empty, list := provider.Empty()
	err := c.client.List(ctx, list, client.InNamespace(s.Job.Namespace), client.MatchingLabels{v1alpha1.LabelJobUID: string(s.Job.UID)})
	if meta.IsNoMatchError(err) {
		s.Gang.Unavailable = c.unavailable(provider, empty)
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing pod groups: %w", err)
	}
	return meta.EachListItem(list, func(o runtime.Object) error {
		if group, isObject := o.(client.Object); isObject && isControlledBy(group, s.Job) {
			g := state.Group{Name: group.GetName(), UID: group.GetUID(), Deleted: group.GetDeletionTimestamp() != nil}
			g.Minimum, g.Waiting = provider.Read(group)
			s.Gang.Groups = append(s.Gang.Groups, g)
		}
		return nil
	})
}

// unavailable says what the cluster lacks.
func (c *Cluster) unavailable(provider gang.Provider, empty client.Object) string {
	kind, err := apiutil.GVKForObject(empty, c.client.Scheme())
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("The cluster does not serve %s of %s, which scheduling.gang: %s needs: install or enable it, or write another gang.",
		kind.Kind, kind.GroupVersion(), provider.Name())
}
