package gang_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	coschedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	"sigs.k8s.io/yaml"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/gang"
	"github.com/trainingjob/operator/pkg/job/state"
)

var terms = state.GangTerms{
	Minimum: 17, Together: true,
	Scheduling: v1alpha1.Scheduling{
		Queue: "team-a", PriorityClassName: "train",
		Topology: &v1alpha1.Topology{Key: "rack", Mode: v1alpha1.TopologyRequired, Tier: ptr.To[int32](2)},
	},
}

func TestEachSchedulerGetsWhatItsOwnAPIHas(t *testing.T) {
	want := map[v1alpha1.Gang]string{
		v1alpha1.GangNative: `
disruptionMode: {all: {}}
priorityClassName: train
schedulingConstraints: {topology: [{key: rack}]}
schedulingPolicy: {gang: {minCount: 17}}`,
		v1alpha1.GangVolcano: `
minMember: 17
networkTopology: {highestTierAllowed: 2, mode: hard}
priorityClassName: train
queue: team-a`,
		v1alpha1.GangCoscheduling: `
minMember: 17`,
	}
	for _, provider := range gang.Providers {
		var got, expected struct{ Spec map[string]any }
		text, err := yaml.Marshal(provider.Group(terms))
		if err == nil {
			err = yaml.Unmarshal(text, &got)
		}
		if err == nil {
			err = yaml.Unmarshal([]byte(want[provider.Name()]), &expected.Spec)
		}
		if diff := cmp.Diff(expected.Spec, got.Spec); err != nil || diff != "" {
			t.Errorf("%s: %v, spec (-want +got):\n%s", provider.Name(), err, diff)
		}
	}
}

func TestAPodJoinsItsGroup(t *testing.T) {
	for _, provider := range gang.Providers {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}}}
		provider.Join(pod, "train-3")
		own := pod.DeepCopy()
		own.Spec.SchedulerName = "mine"
		provider.Join(own, "train-3")
		switch provider.Name() {
		case v1alpha1.GangNative:
			if *pod.Spec.SchedulingGroup.PodGroupName != "train-3" || pod.Spec.SchedulerName != "" {
				t.Errorf("Native: pod %v", pod.Spec)
			}
		case v1alpha1.GangVolcano:
			if pod.Annotations["scheduling.k8s.io/group-name"] != "train-3" || pod.Spec.SchedulerName != "volcano" {
				t.Errorf("Volcano: pod %v", pod)
			}
		default:
			if pod.Labels["scheduling.x-k8s.io/pod-group"] != "train-3" || pod.Spec.SchedulerName != "scheduler-plugins-scheduler" {
				t.Errorf("Coscheduling: pod %v", pod)
			}
		}
		if own.Spec.SchedulerName != "mine" {
			t.Errorf("%s: a scheduler that the template names becomes %s", provider.Name(), own.Spec.SchedulerName)
		}
	}
}

func TestWhatTheSchedulersSayOfAGroup(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))
	says := state.Trouble{Reason: "Unschedulable", Message: "16 of 17 fit", Time: at.Time}
	native := gang.For(v1alpha1.GangNative).Group(terms).(*schedulingv1beta1.PodGroup)
	native.Status.Conditions = []metav1.Condition{{Type: schedulingv1beta1.PodGroupInitiallyScheduled, Status: "False", Reason: "Unschedulable", Message: "16 of 17 fit", LastTransitionTime: at}}
	placed := native.DeepCopy()
	placed.Status.Conditions[0].Status = "True"
	volcano := gang.For(v1alpha1.GangVolcano).Group(terms).(*volcanov1beta1.PodGroup)
	volcano.Status = volcanov1beta1.PodGroupStatus{Phase: volcanov1beta1.PodGroupInqueue, Conditions: []volcanov1beta1.PodGroupCondition{
		{Type: volcanov1beta1.PodGroupUnschedulableType, Status: corev1.ConditionTrue, Reason: "Unschedulable", Message: "16 of 17 fit", LastTransitionTime: at}}}
	runs := volcano.DeepCopy()
	runs.Status.Phase = volcanov1beta1.PodGroupRunning
	for name, c := range map[string]struct {
		gang  v1alpha1.Gang
		group state.Object
		want  state.Trouble
	}{
		"native, waits":  {v1alpha1.GangNative, native, says},
		"native, placed": {v1alpha1.GangNative, placed, state.Trouble{}},
		"volcano, waits": {v1alpha1.GangVolcano, volcano, says},
		"volcano, runs":  {v1alpha1.GangVolcano, runs, state.Trouble{}},
		"coscheduling":   {v1alpha1.GangCoscheduling, &coschedulingv1alpha1.PodGroup{Spec: coschedulingv1alpha1.PodGroupSpec{MinMember: 17}}, state.Trouble{}},
	} {
		minimum, waiting := gang.For(c.gang).Read(c.group)
		if diff := cmp.Diff(c.want, waiting); minimum != 17 || diff != "" {
			t.Errorf("%s: minimum %d, waiting (-want +got):\n%s", name, minimum, diff)
		}
		if minimum, waiting = gang.For(c.gang).Read(&corev1.Pod{}); minimum != 0 || waiting != (state.Trouble{}) {
			t.Errorf("%s: a pod is read as a group of %d", name, minimum)
		}
	}
}

func TestNobodyElseIsAProvider(t *testing.T) {
	for _, name := range []v1alpha1.Gang{"", v1alpha1.GangNone, "Other"} {
		if p := gang.For(name); p != nil {
			t.Errorf("%q is %s", name, p.Name())
		}
	}
}
