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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// groupReader is a client of a cluster with native and Volcano's pod groups. It counts the lists.
type groupReader struct {
	client.Client
	native  []schedulingv1beta1.PodGroup
	volcano []volcanov1beta1.PodGroup
	lists   int
	denied  bool
}

// liveGroups is the API server behind the cache of a groupReader.
type liveGroups struct{ *groupReader }

func (l liveGroups) List(ctx context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if l.denied {
		l.lists++
		return apierrors.NewForbidden(schema.GroupResource{Resource: "podgroups"}, "", errors.New(`User "operator" cannot list resource "podgroups"`))
	}
	return l.groupReader.List(ctx, list, client.DisableReadYourWritesConsistency)
}

func (c *groupReader) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	c.lists++
	if !(&client.ListOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency {
		return errors.New("the list waits for the writes of all jobs")
	}
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

func (c *groupReader) Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(volcanov1beta1.AddToScheme(scheme))
	return scheme
}

func (c *groupReader) cluster(gang v1alpha1.Gang, served ...v1alpha1.Gang) *Cluster {
	all := New(c, liveGroups{c}, nil, testclock.NewFakePassiveClock(time.Time{}), Options{Parallel: 1, Gang: gang})
	for _, scheduler := range served {
		all.Serve(scheduler)
	}
	return all
}

func TestWhatASchedulerSaysOfAGroupIsALineOfText(t *testing.T) {
	job := builder.Job("j", builder.Workers(2))
	group := *build.Group(job, &schedulingv1beta1.PodGroup{}).(*schedulingv1beta1.PodGroup)
	group.Status.Conditions = []metav1.Condition{{Type: schedulingv1beta1.PodGroupInitiallyScheduled, Status: "False", Message: "no room\x1b[2J\non any node"}}
	o := &state.Observed{Job: job}
	if err := (&groupReader{native: []schedulingv1beta1.PodGroup{group}}).cluster("Native").addGang(t.Context(), o); err != nil || len(o.Gang.Groups) != 1 {
		t.Fatalf("%d groups, error %v", len(o.Gang.Groups), err)
	}
	if got, want := o.Gang.Groups[0].Waiting.Message, "no room [2J on any node"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhichGroupsASnapshotHolds(t *testing.T) {
	job := builder.Job("j", builder.Workers(2))
	former := job.DeepCopy()
	former.UID = "former"
	native := *build.Group(job, &schedulingv1beta1.PodGroup{}).(*schedulingv1beta1.PodGroup)
	foreign := *build.Group(former, &schedulingv1beta1.PodGroup{}).(*schedulingv1beta1.PodGroup)
	left := *build.Group(job, &volcanov1beta1.PodGroup{}).(*volcanov1beta1.PodGroup)
	for name, c := range map[string]struct {
		has       *groupReader
		scheduler v1alpha1.Gang
		served    []v1alpha1.Gang
		want      []string
		inForce   v1alpha1.Gang
		lists     int
	}{
		"the job's own":                          {&groupReader{native: []schedulingv1beta1.PodGroup{native, foreign}}, "Native", []v1alpha1.Gang{"Native"}, []string{"Native j-0"}, "Native", 1},
		"what another scheduler has left":        {&groupReader{native: []schedulingv1beta1.PodGroup{native}, volcano: []volcanov1beta1.PodGroup{left}}, "Native", []v1alpha1.Gang{"Native", "Volcano"}, []string{"Native j-0", "Volcano j-0"}, "Native", 2},
		"the attempt's, before --gang":           {&groupReader{volcano: []volcanov1beta1.PodGroup{left}}, "Native", []v1alpha1.Gang{"Native", "Volcano"}, []string{"Volcano j-0"}, "Volcano", 2},
		"the job's own, before they are watched": {&groupReader{native: []schedulingv1beta1.PodGroup{native}}, "Native", nil, []string{"Native j-0"}, "Native", 2},
		"none, and nothing is listed":            {&groupReader{}, "None", nil, nil, "None", 0},
		"none of a scheduler that has no groups": {&groupReader{}, "Coscheduling", nil, nil, "Coscheduling", 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := &state.Observed{Job: job}
			kube := c.has
			if err := kube.cluster(c.scheduler, c.served...).addGang(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			s, err := state.New(*o)
			if err != nil {
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

// A cached list would start a watch that the API server refuses, and wait for it.
func TestWithoutTheRightToGroupsAJobNamesTheComponent(t *testing.T) {
	kube, o := &groupReader{denied: true}, &state.Observed{Job: builder.Job("j", builder.Workers(2))}
	if err := kube.cluster("Volcano").addGang(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	want := "The operator has no right to PodGroup of scheduling.volcano.sh/v1beta1, which scheduling.gang: Volcano needs: " +
		"apply manifests/components/volcano, or choose another gang."
	if o.Gang.Unavailable != want || kube.lists != 1 {
		t.Errorf("after %d lists got %q, want %q", kube.lists, o.Gang.Unavailable, want)
	}
}
