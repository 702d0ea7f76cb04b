package build_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// Admission may put a container of its own first, as injectors of storage and meshes do: the template's stays the main one.
func TestTheMainContainerIsTheTemplates(t *testing.T) {
	second := func(template *corev1.PodTemplateSpec) {
		rich(template)
		template.Annotations[state.AnnotationMain] = "logs"
	}
	for want, template := range map[string]func(*corev1.PodTemplateSpec){"main": rich, "logs": second} {
		pod := build.Pod(builder.Job("j", builder.Workers(2, builder.Template(template))), worker1, state.Life{}, nil, nil)
		pod.Spec.Containers = append([]corev1.Container{{Name: "proxy"}}, pod.Spec.Containers...)
		if got := state.MainContainer(pod); got != want {
			t.Errorf("the main container is %s, want %s", got, want)
		}
	}
}

// A drain and a taint delete a pod with its own grace period: with 0 it would be gone before its node has ended it.
func TestAPodHasAtLeastASecondToEnd(t *testing.T) {
	for own, want := range map[int64]int64{0: 1, 1: 1, 30: 30} {
		job := builder.Job("j", builder.Workers(2, builder.Template(func(template *corev1.PodTemplateSpec) {
			template.Spec.TerminationGracePeriodSeconds = &own
		})))
		if got := build.Pod(job, worker1, state.Life{}, nil, nil).Spec.TerminationGracePeriodSeconds; *got != want {
			t.Errorf("a pod whose template says %d has %d s to end, want %d", own, *got, want)
		}
		if left := job.Spec.ReplicaSpecs[v1alpha1.Worker].Template.Spec.TerminationGracePeriodSeconds; *left != own {
			t.Errorf("the template says %d now", *left)
		}
	}
}
