package build_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// Every container of a job that asks finds the request in a file and the file's name in a variable; where it mounts something of its
// own there, it keeps that.
func TestContainersSeeWhatTheirRanksAreAsked(t *testing.T) {
	own := corev1.VolumeMount{Name: "own", MountPath: "/etc/trainingjob/"}
	job := builder.Job("j", builder.Asking(10), builder.Workers(2, builder.PodSpec(func(pod *corev1.PodSpec) {
		pod.InitContainers = []corev1.Container{{Name: "report"}}
		pod.Containers = append(pod.Containers, corev1.Container{Name: "other", VolumeMounts: []corev1.VolumeMount{own}})
	})))
	pod := build.Pod(job, worker1, state.Life{}, nil, nil)
	wantVolume := []corev1.Volume{{Name: "trainingjob-stop", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
		Items: []corev1.DownwardAPIVolumeFile{{Path: "stop", FieldRef: &corev1.ObjectFieldSelector{
			APIVersion: "v1", FieldPath: "metadata.annotations['trainingjob.dev/checkpoint-request']"}}}}}}}
	if diff := cmp.Diff(wantVolume, pod.Spec.Volumes); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
	seen := corev1.VolumeMount{Name: "trainingjob-stop", MountPath: "/etc/trainingjob", ReadOnly: true}
	want := map[string][]corev1.VolumeMount{"report": {seen}, pod.Spec.Containers[0].Name: {seen}, "other": {own}}
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		if diff := cmp.Diff(want[c.Name], c.VolumeMounts); diff != "" {
			t.Errorf("mounts of %s (-want +got):\n%s", c.Name, diff)
		}
		if told := (corev1.EnvVar{Name: "TRAININGJOB_CHECKPOINT_REQUEST_FILE", Value: "/etc/trainingjob/stop"}); !slices.Contains(c.Env, told) {
			t.Errorf("%s is not told the file: %v", c.Name, c.Env)
		}
	}
	silent := build.Pod(builder.Job("j", builder.Asking(0), builder.Workers(2)), worker1, state.Life{}, nil, nil)
	isTold := slices.ContainsFunc(silent.Spec.Containers[0].Env, func(v corev1.EnvVar) bool { return v.Name == "TRAININGJOB_CHECKPOINT_REQUEST_FILE" })
	if len(silent.Spec.Volumes)+len(silent.Spec.Containers[0].VolumeMounts) > 0 || isTold {
		t.Errorf("a job that asks nobody has %+v", silent.Spec)
	}
}
