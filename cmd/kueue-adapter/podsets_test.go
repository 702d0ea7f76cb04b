package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/podset"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

type change func(*v1alpha1.TrainingJob)

// waiting returns a suspended job.
func waiting(changes ...change) *v1alpha1.TrainingJob {
	j := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "j"}}
	j.Spec.Suspend = ptr.To(true)
	j.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
	for _, c := range changes {
		c(j)
	}
	return j
}

func replicas(role v1alpha1.Role, n int32, more ...func(*v1alpha1.ReplicaSpec)) change {
	return func(j *v1alpha1.TrainingJob) {
		spec := v1alpha1.ReplicaSpec{Replicas: &n}
		spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: string(role)}}
		for _, m := range more {
			m(&spec)
		}
		j.Spec.ReplicaSpecs[role] = spec
	}
}

func annotated(name, value string) func(*v1alpha1.ReplicaSpec) {
	return func(r *v1alpha1.ReplicaSpec) { r.Template.Annotations = map[string]string{name: value} }
}

func elastic(least, most int32) change {
	return func(j *v1alpha1.TrainingJob) {
		j.Spec.Elastic = &v1alpha1.Elastic{MinReplicas: least, MaxReplicas: most}
	}
}

func scaled(to int32) change {
	return func(j *v1alpha1.TrainingJob) {
		workers := j.Spec.ReplicaSpecs[v1alpha1.Worker]
		workers.Replicas = &to
		j.Spec.ReplicaSpecs[v1alpha1.Worker] = workers
	}
}

// topology is what a pod set asks for that says nothing else.
var topology = &kueue.PodSetTopologyRequest{PodIndexLabel: ptr.To(v1alpha1.LabelIndex)}

func TestPodSetsAreTheRolesByRank(t *testing.T) {
	rack := "topology.kubernetes.io/rack"
	cases := []struct {
		name string
		job  *v1alpha1.TrainingJob
		want []kueue.PodSet
	}{
		{"roles by rank", waiting(replicas(v1alpha1.PS, 2), replicas(v1alpha1.Worker, 4), replicas(v1alpha1.Chief, 1)), []kueue.PodSet{
			{Name: "chief", Count: 1, TopologyRequest: topology}, {Name: "worker", Count: 4, TopologyRequest: topology}, {Name: "ps", Count: 2, TopologyRequest: topology},
		}},
		{"a role of no replicas is none", waiting(replicas(v1alpha1.PS, 0), replicas(v1alpha1.Worker, 4)), []kueue.PodSet{
			{Name: "worker", Count: 4, TopologyRequest: topology},
		}},
		{"workers of an elastic job may be fewer, its parameter servers may not", waiting(replicas(v1alpha1.Worker, 4), replicas(v1alpha1.PS, 2), elastic(2, 8)), []kueue.PodSet{
			{Name: "worker", Count: 4, MinCount: ptr.To[int32](2), TopologyRequest: topology}, {Name: "ps", Count: 2, TopologyRequest: topology},
		}},
		{"the template says which topology", waiting(replicas(v1alpha1.Worker, 1, annotated(kueue.PodSetRequiredTopologyAnnotation, rack))), []kueue.PodSet{
			{Name: "worker", Count: 1, TopologyRequest: &kueue.PodSetTopologyRequest{Required: &rack, PodIndexLabel: ptr.To(v1alpha1.LabelIndex)}},
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := (*trainingJob)(c.job).PodSets(t.Context(), nil)
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(kueue.PodSet{}, "Template")); diff != "" || err != nil {
				t.Errorf("error %v, pod sets (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestAnUnreadableTopologyIsToldWithTheRole(t *testing.T) {
	j := waiting(replicas(v1alpha1.Worker, 1, annotated(kueue.PodSetUnconstrainedTopologyAnnotation, "maybe")))
	_, err := (*trainingJob)(j).PodSets(t.Context(), nil)
	want := `replicaSpecs.Worker.template.metadata.annotations: strconv.ParseBool: parsing "maybe": invalid syntax`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// admission is what Kueue gives n pods of a role.
func admission(n int32) podset.PodSetInfo {
	return podset.PodSetInfo{
		Count: n, Labels: map[string]string{"podset": "x"}, Annotations: map[string]string{"workload": "w"},
		NodeSelector: map[string]string{"flavor": "a"}, Tolerations: []corev1.Toleration{{Key: "gpu"}},
	}
}

func TestWhatIsAdmittedRunsAndIsTakenBack(t *testing.T) {
	cases := []struct {
		name     string
		job      *v1alpha1.TrainingJob
		admitted []podset.PodSetInfo
		workers  int32
		scale    change
		after    int32
	}{
		{"all", waiting(replicas(v1alpha1.Worker, 4), replicas(v1alpha1.PS, 1)), []podset.PodSetInfo{admission(4), admission(1)}, 4, nil, 4},
		{"fewer", waiting(replicas(v1alpha1.Worker, 4), elastic(2, 8)), []podset.PodSetInfo{admission(2)}, 2, nil, 4},
		{"fewer, and somebody scales it", waiting(replicas(v1alpha1.Worker, 4), elastic(2, 8)), []podset.PodSetInfo{admission(2)}, 2, scaled(3), 3},
		{"all, and somebody scales it", waiting(replicas(v1alpha1.Worker, 4), elastic(2, 8)), []podset.PodSetInfo{admission(4)}, 4, scaled(8), 8},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := c.job.DeepCopy()
			j := (*trainingJob)(c.job)
			asked := infos(t, j)
			if err := j.RunWithPodSetsInfo(t.Context(), nil, c.admitted); err != nil {
				t.Fatal(err)
			}
			if got := j.Spec.Replicas(v1alpha1.Worker); j.IsSuspended() || got != c.workers {
				t.Errorf("suspended %v, %d workers, want %d that run", j.IsSuspended(), got, c.workers)
			}
			for role, spec := range j.Spec.ReplicaSpecs {
				template := spec.Template
				got := podset.PodSetInfo{
					Labels: template.Labels, Annotations: template.Annotations,
					NodeSelector: template.Spec.NodeSelector, Tolerations: template.Spec.Tolerations,
				}
				if diff := cmp.Diff(admission(0), got); diff != "" {
					t.Errorf("template of %s (-want +got):\n%s", role, diff)
				}
			}
			if c.scale != nil {
				c.scale(c.job)
			}
			j.Suspend()
			if !j.RestorePodSetsInfo(t.Context(), asked) {
				t.Error("nothing is taken back")
			}
			scaled(c.after)(want)
			want.Finalizers = []string{v1alpha1.FinalizerQuota}
			if diff := cmp.Diff(want, c.job, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the job afterwards (-want +got):\n%s", diff)
			}
			if j.RestorePodSetsInfo(t.Context(), asked) {
				t.Error("something is taken back twice")
			}
		})
	}
}

// infos returns what Kueue remembers of the job's pod sets.
func infos(t *testing.T, j *trainingJob) []podset.PodSetInfo {
	t.Helper()
	sets, err := j.PodSets(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []podset.PodSetInfo
	for i := range sets {
		all = append(all, podset.FromPodSet(&sets[i]))
	}
	return all
}

func TestAnAdmissionThatDoesNotFitTheJobIsRefusedForGood(t *testing.T) {
	selected := func(r *v1alpha1.ReplicaSpec) { r.Template.Spec.NodeSelector = map[string]string{"flavor": "b"} }
	cases := []struct {
		name     string
		admitted []podset.PodSetInfo
		want     error
	}{
		{"another number of roles", []podset.PodSetInfo{admission(1), admission(1)}, podset.ErrInvalidPodsetInfo},
		{"a node selector that contradicts the template's", []podset.PodSetInfo{admission(1)}, podset.ErrInvalidPodSetUpdate},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			j := (*trainingJob)(waiting(replicas(v1alpha1.Worker, 1, selected)))
			err := j.RunWithPodSetsInfo(t.Context(), nil, c.admitted)
			if !errors.Is(err, c.want) || !podset.IsPermanent(err) || !j.IsSuspended() {
				t.Errorf("error %v, want %v; suspended %v", err, c.want, j.IsSuspended())
			}
		})
	}
}

func TestTemplatesAreLeftAloneWhenTheRolesHaveChanged(t *testing.T) {
	j := waiting(replicas(v1alpha1.Worker, 1))
	want := j.DeepCopy()
	if (*trainingJob)(j).RestorePodSetsInfo(t.Context(), []podset.PodSetInfo{admission(1), admission(1)}) {
		t.Error("it says that it has changed something")
	}
	if diff := cmp.Diff(want, j); diff != "" {
		t.Errorf("the job (-want +got):\n%s", diff)
	}
}

// The annotation is in a user's hand: what a stopped job asks for is in its Workload.
func TestAWrittenAnnotationDoesNotChangeTheNumberOfWorkers(t *testing.T) {
	for _, note := range []string{"4 of 99999", "4 of 5", "99999 of 4", "many"} {
		j := (*trainingJob)(waiting(replicas(v1alpha1.Worker, 4)))
		asked := infos(t, j)
		if err := j.RunWithPodSetsInfo(t.Context(), nil, []podset.PodSetInfo{admission(4)}); err != nil {
			t.Fatal(err)
		}
		j.Annotations = map[string]string{annotationPartial: note}
		j.Suspend()
		j.RestorePodSetsInfo(t.Context(), asked)
		if got := j.Spec.Replicas(v1alpha1.Worker); got != 4 || len(j.Annotations) > 0 {
			t.Errorf("%q: %d workers, annotations %v", note, got, j.Annotations)
		}
	}
}

func TestAManifestThatIsAppliedAgainKeepsAPartialAdmission(t *testing.T) {
	cases := []struct {
		name   string
		note   string
		change change
		want   int32
	}{
		{"all workers are requested again", "2 of 4", scaled(4), 2},
		{"it runs as admitted", "2 of 4", nil, 2},
		{"it is scaled to another number", "2 of 4", scaled(3), 3},
		{"the annotation is more than was requested", "9 of 4", scaled(4), 4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := waiting(replicas(v1alpha1.Worker, 4), elastic(2, 8))
			j := (*trainingJob)(job)
			if err := j.RunWithPodSetsInfo(t.Context(), nil, []podset.PodSetInfo{admission(2)}); err != nil {
				t.Fatal(err)
			}
			job.Annotations[annotationPartial] = c.note
			if c.change != nil {
				c.change(job)
			}
			sets, err := j.PodSets(t.Context(), nil)
			if err != nil || sets[0].Count != c.want {
				t.Errorf("quota for %d workers, error %v; want %d", sets[0].Count, err, c.want)
			}
			j.correct()
			if got := job.Spec.Replicas(v1alpha1.Worker); got != c.want {
				t.Errorf("%d workers afterwards, want %d", got, c.want)
			}
		})
	}
}
