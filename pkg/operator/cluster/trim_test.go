package cluster

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// controlled returns a full pod of the job, as built.
func controlled(job *v1alpha1.TrainingJob) *corev1.Pod {
	return build.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, []corev1.EnvVar{{Name: "TOKEN", Value: "secret"}}, nil)
}

func trimmed(t interface{ Fatal(...any) }, pod *corev1.Pod) *corev1.Pod {
	o, err := (&shared{}).trimPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	return o.(*corev1.Pod)
}

// signals are the signals that a trimmed node keeps.
var signals = nodes.Signals{
	{Kind: nodes.TaintSignal, Name: "broken"}:           state.LoseNode,
	{Kind: nodes.ConditionSignal, Name: "GpuMemWatch"}:  state.BlameNode,
	{Kind: nodes.ConditionSignal, Name: "NVSwitchDown"}: state.IgnoreNode,
}

func trimmedNode(t interface{ Fatal(...any) }, node *corev1.Node) *corev1.Node {
	o, err := trimNode(signals)(node)
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
			Labels: map[string]string{v1alpha1.LabelJobName: "j"}, OwnerReferences: full.OwnerReferences},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "main"}}}, // the first may be the main one
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trimmed pod (-want +got):\n%s", diff)
	}
	if !state.IsOwnedBy(got, job) {
		t.Error("the trimmed pod is not the job's any more")
	}
}

func TestWhatIsNoPodOrNodeIsLeftAlone(t *testing.T) {
	for _, o := range []any{&corev1.Service{}, cache.DeletedFinalStateUnknown{Key: "k"}, nil} {
		for _, trim := range []func(any) (any, error){(&shared{}).trimPod, trimNode(nil)} {
			if got, err := trim(o); err != nil || !cmp.Equal(o, got) {
				t.Errorf("%v became %v, %v", o, got, err)
			}
		}
	}
}

func TestATrimmedNodeIsSmall(t *testing.T) {
	gpus := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "long", LastTransitionTime: builder.Time(0)}
	gpu := func(status corev1.ConditionStatus) corev1.NodeCondition {
		return corev1.NodeCondition{Type: "GpuMemWatch", Status: status, Reason: "Faulty", Message: "[79]", LastTransitionTime: builder.Time(0), LastHeartbeatTime: builder.Time(1)}
	}
	signal := gpu(corev1.ConditionTrue)
	signal.LastHeartbeatTime = metav1.Time{}
	full := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7", Labels: map[string]string{"zone": "a"}, ManagedFields: []metav1.ManagedFieldsEntry{{}}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "gpu"}}, PodCIDR: "10.0.0.0/24"},
		Status:     corev1.NodeStatus{Allocatable: gpus, Capacity: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8"), "memory": resource.MustParse("1Ti")}, Conditions: []corev1.NodeCondition{ready, {Type: corev1.NodeDiskPressure}, gpu(corev1.ConditionTrue), {Type: "NVSwitchDown", Status: corev1.ConditionTrue}}, Images: []corev1.ContainerImage{{Names: []string{"i"}}}},
	}
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7", Labels: map[string]string{"zone": "a"}}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "gpu"}}},
		Status: corev1.NodeStatus{Allocatable: gpus, Capacity: gpus, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: builder.Time(0)}, signal}},
	}
	if diff := cmp.Diff(want, trimmedNode(t, full)); diff != "" {
		t.Errorf("trimmed node (-want +got):\n%s", diff)
	}
	full.Status.Conditions[2] = gpu(corev1.ConditionUnknown)
	want.Status.Conditions = want.Status.Conditions[:1]
	if diff := cmp.Diff(want, trimmedNode(t, full)); diff != "" {
		t.Errorf("trimmed node with an unknown condition (-want +got):\n%s", diff)
	}
}

// The cache holds all jobs and nodes; of everything else it holds only the jobs' own children.
func TestTheCacheHoldsOnlyTheJobsOwnChildren(t *testing.T) {
	for _, namespaces := range [][]string{nil, {"team-a"}, {"team-a", "team-b"}} {
		options, err := CacheOptions(namespaces, nil)
		if err != nil {
			t.Fatal(err)
		}
		ours, foreign := labelSet{v1alpha1.LabelJobUID: "u"}, labelSet{"app": "x"}
		if by := options.DefaultLabelSelector; !by.Matches(ours) || by.Matches(foreign) {
			t.Errorf("the cache selects %s", by)
		}
		for o, by := range options.ByObject {
			switch o.(type) {
			case *corev1.Pod, *corev1.Service:
				if !by.Label.Matches(ours) || by.Label.Matches(foreign) {
					t.Errorf("%T: the cache selects %s", o, by.Label)
				}
			case *corev1.Node, *v1alpha1.TrainingJob:
				if !by.Label.Matches(foreign) {
					t.Errorf("%T: the cache selects %s", o, by.Label)
				}
			default:
				t.Errorf("%T: the cache has an exception for it", o)
			}
		}
		if watched := slices.Sorted(maps.Keys(options.DefaultNamespaces)); !slices.Equal(watched, namespaces) {
			t.Errorf("namespaces %q: the cache watches %q", namespaces, watched)
		}
	}
}

type labelSet map[string]string

func (l labelSet) Has(label string) bool              { return l[label] != "" }
func (l labelSet) Get(label string) string            { return l[label] }
func (l labelSet) Lookup(label string) (string, bool) { v, ok := l[label]; return v, ok }

// Pods share only equal parts: of pods trimmed one after the other, each is as if it were alone.
func TestPodsThatShareAreReadAsIfTheyWereAlone(t *testing.T) {
	plain, fenced, empty, other, restartable := *controlled(builder.Job("j", builder.Workers(1))), *controlled(builder.Job("j", builder.Workers(1))), *controlled(builder.Job("j", builder.Workers(1))),
		*controlled(builder.Job("k", builder.Workers(1))), *controlled(builder.Job("j", builder.Workers(1)))
	delete(fenced.Labels, v1alpha1.LabelJobName)
	empty.Labels[v1alpha1.LabelJobName] = ""
	always := corev1.ContainerRestartPolicyAlways
	other.Spec.Containers[0].RestartPolicy = &always
	restartable.Annotations = map[string]string{v1alpha1.AnnotationInPlaceRestart: `{"life":"0-0"}`}
	restartable.Spec.Containers[0].Image = "train:v2"
	s := (&shared{})
	for range 2 {
		for i, pod := range []*corev1.Pod{&plain, &fenced, &empty, &other, &restartable, &plain} {
			got, err := s.trimPod(pod)
			if diff := cmp.Diff(trimmed(t, pod), got.(*corev1.Pod)); diff != "" || err != nil {
				t.Errorf("pod %d, error %v (-alone +among others):\n%s", i, err, diff)
			}
		}
	}
}
