package build_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/build"
	"github.com/trainingjob/operator/test/builder"
)

// ownedBy is the owner reference of every child of the job j.
func ownedBy() []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: "trainingjob.dev/v1alpha1", Kind: "TrainingJob", Name: "j", UID: "uid-j", Controller: &yes, BlockOwnerDeletion: &yes}}
}

func TestASpareHasTheShapeAndNoneOfTheWork(t *testing.T) {
	never := corev1.PreemptNever
	high := int32(1000)
	gpus := corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}}
	working := func(template *corev1.PodTemplateSpec) {
		rich(template)
		template.Spec.Priority, template.Spec.PreemptionPolicy = &high, &never
		main := &template.Spec.Containers[0]
		main.Command, main.Args, main.Resources = []string{"train"}, []string{"--fast"}, gpus
		main.LivenessProbe, main.ReadinessProbe, main.StartupProbe, main.Lifecycle = &corev1.Probe{}, &corev1.Probe{}, &corev1.Probe{}, &corev1.Lifecycle{}
	}
	job := builder.Job("j", builder.Workers(2, builder.Spares(2), builder.Template(working)))
	untouched := job.DeepCopy()
	before := job.DeepCopy()
	second := int64(1)
	want := before.Spec.ReplicaSpecs[v1alpha1.Worker].Template.Spec
	want.RestartPolicy, want.TerminationGracePeriodSeconds, want.InitContainers = corev1.RestartPolicyAlways, &second, nil
	want.PriorityClassName, want.Priority, want.PreemptionPolicy = "low", nil, nil
	for i := range want.Containers {
		own := want.Containers[i]
		want.Containers[i] = corev1.Container{Name: own.Name, Image: own.Image, Env: own.Env, Resources: own.Resources, Command: []string{"sleep", "infinity"}}
	}
	pod := build.Spare(job, v1alpha1.Worker, 1, nil, "low")
	if diff := cmp.Diff(want, pod.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	meta := metav1.ObjectMeta{Name: "j-worker-spare-1", Namespace: "team-a", Annotations: map[string]string{"note": "mine"}, OwnerReferences: ownedBy(),
		Labels: map[string]string{"app": "train", "trainingjob.dev/role": "boss", "trainingjob.dev/job-uid": "uid-j", "trainingjob.dev/spare": "worker"}}
	if diff := cmp.Diff(meta, pod.ObjectMeta); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(untouched, job); diff != "" {
		t.Errorf("the job has changed:\n%s", diff)
	}
}

// The Service selects by job-name, which spares have not: a peer that looks up the job never meets one.
func TestTheServiceDoesNotSelectSpares(t *testing.T) {
	job := builder.Job("j", builder.Workers(1, builder.Spares(1)))
	labels := build.Spare(job, v1alpha1.Worker, 0, nil, "").Labels
	selected := true
	for key, value := range build.Service(job, nil).Spec.Selector {
		selected = selected && labels[key] == value
	}
	if selected {
		t.Errorf("the Service selects a spare by %v", build.Service(job, nil).Spec.Selector)
	}
}

func TestWhatASpareRunsAndHowImportantItIs(t *testing.T) {
	spares := func(s v1alpha1.Spares) *v1alpha1.TrainingJob {
		job := builder.Job("j", builder.Workers(1, builder.Template(rich)))
		worker := job.Spec.ReplicaSpecs[v1alpha1.Worker]
		worker.Spares = &s
		job.Spec.ReplicaSpecs[v1alpha1.Worker] = worker
		return job
	}
	cases := []struct {
		name    string
		spares  v1alpha1.Spares
		class   string
		command []string
		want    string
	}{
		{"the default", v1alpha1.Spares{}, "", []string{"sleep", "infinity"}, "train"},
		{"the operator's class", v1alpha1.Spares{}, "low", []string{"sleep", "infinity"}, "low"},
		{"the job's own class wins", v1alpha1.Spares{PriorityClassName: "mine"}, "low", []string{"sleep", "infinity"}, "mine"},
		{"the job's own command", v1alpha1.Spares{Command: []string{"/pause"}}, "", []string{"/pause"}, "train"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			pod := build.Spare(spares(c.spares), v1alpha1.Worker, 0, nil, c.class)
			if diff := cmp.Diff(c.want, pod.Spec.PriorityClassName); diff != "" {
				t.Errorf("priority class (-want +got):\n%s", diff)
			}
			for _, container := range pod.Spec.Containers {
				if diff := cmp.Diff(c.command, container.Command); diff != "" {
					t.Errorf("command of %s (-want +got):\n%s", container.Name, diff)
				}
			}
		})
	}
}

func TestASpareKeepsOffAvoidedNodesToo(t *testing.T) {
	job := builder.Job("j", builder.Workers(1, builder.Spares(1)))
	spec := build.Spare(job, v1alpha1.Worker, 0, []string{"bad"}, "").Spec
	want := podWith(func(*corev1.PodSpec) {}, "bad").Affinity
	if diff := cmp.Diff(want, spec.Affinity); diff != "" {
		t.Errorf("affinity (-replica +spare):\n%s", diff)
	}
}
