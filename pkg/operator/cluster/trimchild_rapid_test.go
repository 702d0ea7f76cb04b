package cluster

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	coschedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/gang"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// metadata is what users may write to any child: some of it belongs to the operator, most does not.
var metadata = rapid.Custom(func(t *rapid.T) metav1.ObjectMeta {
	foreign := strings.Repeat("x", rapid.IntRange(0, 3000).Draw(t, "foreign"))
	m := metav1.ObjectMeta{
		Name: "j", Namespace: "team-a", UID: "u", ResourceVersion: "7", Finalizers: []string{foreign},
		Labels:        map[string]string{v1alpha1.LabelJobUID: "1", "foreign": foreign},
		Annotations:   map[string]string{"foreign": foreign, corev1.LastAppliedConfigAnnotation: foreign},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: foreign}},
	}
	for i := range rapid.IntRange(0, 50).Draw(t, "owners") {
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{Kind: "Foreign", Name: strconv.Itoa(i)})
	}
	if rapid.Bool().Draw(t, "controlled") {
		m.OwnerReferences = append(m.OwnerReferences, *metav1.NewControllerRef(builder.Job("j"), v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)))
	}
	if rapid.Bool().Draw(t, "deleted") {
		m.DeletionTimestamp = ptr.To(when.Draw(t, "deletion"))
	}
	return m
})

var child = rapid.Custom(func(t *rapid.T) client.Object {
	m, minimum := metadata.Draw(t, "metadata"), rapid.Int32Range(0, 9).Draw(t, "minimum")
	status := rapid.SampledFrom([]string{"True", "False", "Unknown"}).Draw(t, "status")
	reason, message, at := word.Draw(t, "reason"), strings.Repeat("é", rapid.IntRange(0, 20_000).Draw(t, "message")), when.Draw(t, "time")
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return &corev1.Service{ObjectMeta: m, Spec: corev1.ServiceSpec{ExternalIPs: []string{"10.0.0.1"}}}
	case 1:
		return &coschedulingv1alpha1.PodGroup{ObjectMeta: m, Spec: coschedulingv1alpha1.PodGroupSpec{MinMember: minimum}}
	case 2:
		return &volcanov1beta1.PodGroup{ObjectMeta: m, Spec: volcanov1beta1.PodGroupSpec{MinMember: minimum, Queue: message},
			Status: volcanov1beta1.PodGroupStatus{
				Phase: rapid.SampledFrom([]volcanov1beta1.PodGroupPhase{volcanov1beta1.PodGroupPending, volcanov1beta1.PodGroupInqueue, volcanov1beta1.PodGroupRunning}).Draw(t, "phase"),
				Conditions: []volcanov1beta1.PodGroupCondition{{Type: volcanov1beta1.PodGroupUnschedulableType, Status: corev1.ConditionStatus(status),
					Reason: reason, Message: message, LastTransitionTime: at}},
			}}
	default:
		return &schedulingv1beta1.PodGroup{ObjectMeta: m,
			Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: minimum}}},
			Status: schedulingv1beta1.PodGroupStatus{Conditions: []metav1.Condition{{Type: schedulingv1beta1.PodGroupInitiallyScheduled,
				Status: metav1.ConditionStatus(status), Reason: reason, Message: message, LastTransitionTime: at}}}}
	}
})

// facts are what the operator reads from a child, by the functions that decisions call.
type facts struct {
	Key          client.ObjectKey
	UID, Version string
	Ours, Listed bool
	Deleted      bool
	Minimum      [3]int32
	Waiting      [3]state.Trouble
}

func factsOf(o client.Object) facts {
	f := facts{
		Key: client.ObjectKeyFromObject(o), UID: string(o.GetUID()), Version: o.GetResourceVersion(), Deleted: o.GetDeletionTimestamp() != nil,
		Ours: state.IsOwnedBy(o, builder.Job("j")), Listed: o.GetLabels()[v1alpha1.LabelJobUID] == "1",
	}
	switch o := o.(type) {
	case *corev1.Service:
		f.Listed = false
	default:
		for i, provider := range gang.Providers {
			f.Minimum[i], f.Waiting[i] = provider.Read(o.(state.Object))
		}
	}
	return f
}

// What the cache drops from Services and pod groups changes no decision, and attachments do not stay.
func TestATrimmedChildTellsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		full := child.Draw(t, "child")
		was := full.DeepCopyObject()
		o, err := trimChild(full)
		if err != nil {
			t.Fatal(err)
		}
		trimmed := o.(client.Object)
		if diff := cmp.Diff(factsOf(full), factsOf(trimmed)); diff != "" {
			t.Fatalf("%T (-full +trimmed):\n%s", full, diff)
		}
		if diff := cmp.Diff(was, full); diff != "" {
			t.Fatalf("what the API server sent has changed:\n%s", diff)
		}
		if kept := trimmed.GetAnnotations(); kept["foreign"] != "" || trimmed.GetLabels()["foreign"] != "" || len(trimmed.GetOwnerReferences()) > 1 ||
			len(trimmed.GetFinalizers())+len(trimmed.GetManagedFields()) > 0 {
			t.Fatalf("kept of %T: %v", full, trimmed)
		}
	})
}

// Objects that are no children stay unchanged: the cache's own tombstones, and unknown kinds.
func TestWhatIsNoChildIsLeftAlone(t *testing.T) {
	for _, o := range []any{&corev1.ConfigMap{Data: map[string]string{"a": "b"}}, nil} {
		if got, err := trimChild(o); err != nil || !cmp.Equal(o, got) {
			t.Errorf("%v became %v, %v", o, got, err)
		}
	}
}
