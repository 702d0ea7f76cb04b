package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/build"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

// registry is a client of a cluster that has native pod groups and Volcano's, and counts the lists asked for.
type registry struct {
	client.Client
	native  []schedulingv1beta1.PodGroup
	volcano []volcanov1beta1.PodGroup
	lists   int
	refusal error
}

func (c *registry) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	c.lists++
	switch list := list.(type) {
	case *schedulingv1beta1.PodGroupList:
		list.Items = c.native
	case *volcanov1beta1.PodGroupList:
		list.Items = c.volcano
	default:
		return &meta.NoKindMatchError{}
	}
	return nil
}

func (c *registry) Scheme() *runtime.Scheme { return runtime.NewScheme() }

func (c *registry) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return c.refusal
}

func (c *registry) cluster(gang v1alpha1.Gang, served ...v1alpha1.Gang) *Cluster {
	all := New(c, nil, nil, testclock.NewFakePassiveClock(time.Time{}), Options{Parallel: 1, Gang: gang})
	for _, scheduler := range served {
		all.Serve(scheduler)
	}
	return all
}

func TestWhichGroupsASnapshotHolds(t *testing.T) {
	job := builder.Job("j", builder.Workers(2))
	former := job.DeepCopy()
	former.UID = "former"
	native := *build.Group(job, &schedulingv1beta1.PodGroup{}).(*schedulingv1beta1.PodGroup)
	foreign := *build.Group(former, &schedulingv1beta1.PodGroup{}).(*schedulingv1beta1.PodGroup)
	left := *build.Group(job, &volcanov1beta1.PodGroup{}).(*volcanov1beta1.PodGroup)
	for name, c := range map[string]struct {
		has       *registry
		scheduler v1alpha1.Gang
		served    []v1alpha1.Gang
		want      []string
		inForce   v1alpha1.Gang
		lists     int
	}{
		"the job's own":                          {&registry{native: []schedulingv1beta1.PodGroup{native, foreign}}, "Native", nil, []string{"Native j-0"}, "Native", 1},
		"what another scheduler has left":        {&registry{native: []schedulingv1beta1.PodGroup{native}, volcano: []volcanov1beta1.PodGroup{left}}, "Native", []v1alpha1.Gang{"Volcano"}, []string{"Native j-0", "Volcano j-0"}, "Native", 2},
		"that of the attempt, before --gang":     {&registry{volcano: []volcanov1beta1.PodGroup{left}}, "Native", []v1alpha1.Gang{"Native", "Volcano"}, []string{"Volcano j-0"}, "Volcano", 2},
		"none, and nobody is asked":              {&registry{}, "None", nil, nil, "None", 0},
		"none of a scheduler that has no groups": {&registry{}, "Coscheduling", nil, nil, "Coscheduling", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &state.Snapshot{Job: job}
			kube := c.has
			if err := kube.cluster(c.scheduler, c.served...).addGang(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, g := range s.Gang.Groups {
				got = append(got, string(g.Scheduler)+" "+g.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || s.Gang.Scheduler != c.inForce || kube.lists != c.lists {
				t.Errorf("%s in force after %d lists, groups (-want +got):\n%s", s.Gang.Scheduler, kube.lists, diff)
			}
		})
	}
}

// The group was deleted and created again since the snapshot: the next one shows it.
func TestAGroupThatIsAnotherIsNotResized(t *testing.T) {
	kind := schema.GroupKind{Kind: "PodGroup"}
	immutable := func(name string) error {
		return apierrors.NewInvalid(kind, "j-0", field.ErrorList{field.Invalid(field.NewPath("metadata", name), "old", "field is immutable")})
	}
	for name, c := range map[string]struct {
		refusal error
		fails   bool
	}{
		"it is another":            {immutable("uid"), false},
		"it has changed":           {apierrors.NewConflict(schema.GroupResource{}, "j-0", errors.New("modified")), false},
		"it is gone":               {apierrors.NewNotFound(schema.GroupResource{}, "j-0"), false},
		"something else is amiss":  {immutable("name"), true},
		"the API server is closed": {errors.New("connection refused"), true},
	} {
		kube := &registry{refusal: c.refusal}
		step := plan.ResizeGroup{Empty: &schedulingv1beta1.PodGroup{}, Name: "j-0", UID: "u", Spec: map[string]any{}}
		if err := kube.cluster("Native").resize(t.Context(), builder.Job("j"), step); (err != nil) != c.fails {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
