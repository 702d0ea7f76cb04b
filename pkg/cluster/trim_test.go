package cluster

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/build"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

// controlled returns a full pod of the job, as built.
func controlled(job *v1alpha1.TrainingJob) *corev1.Pod {
	return build.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, []corev1.EnvVar{{Name: "TOKEN", Value: "secret"}}, nil)
}

func trimmed(t interface{ Fatal(...any) }, pod *corev1.Pod) *corev1.Pod {
	o, err := trimPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	return o.(*corev1.Pod)
}

func trimmedNode(t interface{ Fatal(...any) }, node *corev1.Node) *corev1.Node {
	o, err := trimNode(node)
	if err != nil {
		t.Fatal(err)
	}
	return o.(*corev1.Node)
}

func TestATrimmedPodIsSmallAndStillTheJobs(t *testing.T) {
	job := builder.Job("j", builder.Workers(1))
	full := controlled(job)
	full.UID, full.ResourceVersion, full.Spec.NodeName = "u", "7", "n"
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
	full.Annotations = map[string]string{"note": "long"}
	got := trimmed(t, full)
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: full.Name, Namespace: full.Namespace, UID: "u", ResourceVersion: "7",
			Labels: full.Labels, OwnerReferences: full.OwnerReferences},
		Spec: corev1.PodSpec{NodeName: "n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trimmed pod (-want +got):\n%s", diff)
	}
	if !isControlledBy(got, job) {
		t.Error("the trimmed pod is not the job's any more")
	}
}

func TestWhatIsNoPodOrNodeIsLeftAlone(t *testing.T) {
	for _, o := range []any{&corev1.Service{}, cache.DeletedFinalStateUnknown{Key: "k"}, nil} {
		for _, trim := range []func(any) (any, error){trimPod, trimNode} {
			if got, err := trim(o); err != nil || !cmp.Equal(o, got) {
				t.Errorf("%v became %v, %v", o, got, err)
			}
		}
	}
}

func TestATrimmedNodeIsSmall(t *testing.T) {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "long", LastTransitionTime: builder.Time(0)}
	full := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7", Labels: map[string]string{"zone": "a"}, ManagedFields: []metav1.ManagedFieldsEntry{{}}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "gpu"}}, PodCIDR: "10.0.0.0/24"},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready, {Type: corev1.NodeDiskPressure}}, Images: []corev1.ContainerImage{{Names: []string{"i"}}}},
	}
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7"}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "gpu"}}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: builder.Time(0)}}},
	}
	if diff := cmp.Diff(want, trimmedNode(t, full)); diff != "" {
		t.Errorf("trimmed node (-want +got):\n%s", diff)
	}
}

// Of what belongs to namespaces the cache holds the jobs' own children only; of nodes, which have no labels of ours, all.
func TestTheCacheHoldsOnlyTheJobsOwnChildren(t *testing.T) {
	for _, namespace := range []string{"", "team-a"} {
		options, err := CacheOptions(namespace)
		if err != nil {
			t.Fatal(err)
		}
		for o, by := range options.ByObject {
			ours, foreign := map[string]string{v1alpha1.LabelJobUID: "u"}, map[string]string{"app": "x"}
			switch _, isNode := o.(*corev1.Node); {
			case isNode && by.Label != nil:
				t.Errorf("%T: the cache selects %s", o, by.Label)
			case !isNode && (!by.Label.Matches(labelSet(ours)) || by.Label.Matches(labelSet(foreign))):
				t.Errorf("%T: the cache selects %s", o, by.Label)
			}
		}
		if _, restricted := options.DefaultNamespaces[namespace]; restricted != (namespace != "") || len(options.DefaultNamespaces) > 1 {
			t.Errorf("namespace %q: the cache watches %v", namespace, options.DefaultNamespaces)
		}
	}
}

// Every child carries the label by which the cache selects: else the operator would not see what it made.
func TestTheCacheHoldsEveryChild(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.Spares(v1alpha1.Worker, 1), builder.Progress(60, v1alpha1.StallNotify))
	options, err := CacheOptions("")
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range []client.Object{controlled(job), build.Spare(job, v1alpha1.Worker, 0, nil, ""), build.Service(job), build.ProgressLease(job)} {
		for o, by := range options.ByObject {
			if reflect.TypeOf(o) == reflect.TypeOf(child) && !by.Label.Matches(labelSet(child.GetLabels())) {
				t.Errorf("the cache does not select %T %s with labels %v", child, child.GetName(), child.GetLabels())
			}
		}
		if !isControlledBy(child, job) {
			t.Errorf("%T %s is not the job's", child, child.GetName())
		}
	}
}

type labelSet map[string]string

func (l labelSet) Has(label string) bool              { return l[label] != "" }
func (l labelSet) Get(label string) string            { return l[label] }
func (l labelSet) Lookup(label string) (string, bool) { v, ok := l[label]; return v, ok }
