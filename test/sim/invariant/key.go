package invariant

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// What docs/frameworks.md promises of MPI jobs.
const (
	mpiFolder = "/etc/mpi"
	mpiVolume = "trainingjob-mpi"
)

// secretName is "<job>-<first 8 letters of its UID>-ssh".
func secretName(job *v1alpha1.TrainingJob) string {
	uid := string(job.UID)
	return job.Name + "-" + uid[:min(8, len(uid))] + "-ssh"
}

func hasKey(spec *v1alpha1.TrainingJobSpec) bool {
	return spec.Framework == v1alpha1.MPI && (spec.MPI == nil || spec.MPI.LaunchAgent != v1alpha1.LaunchAgentNone)
}

// checkKey: a pod of an MPI job finds the job's key, which has one owner; other jobs have none.
func (c *Checker) checkKey(pod *corev1.Pod, job *v1alpha1.TrainingJob) {
	secret, _ := c.world.Server.Get(server.Secrets, job.Namespace, secretName(job)).(*corev1.Secret)
	switch {
	case !hasKey(&job.Spec):
		if secret != nil {
			c.violate("19 key: %s is there, and its job has no use for it", secret.Name)
		}
	case secret == nil:
		c.violate("19 key: %s is created without %s", pod.Name, secretName(job))
	case !ledger.HasOwners(secret, job):
		c.violate("19 key: %s has the owners %v, not those of job %s", secret.Name, secret.OwnerReferences, job.UID)
	}
}

// takeFilesOff takes from the pod of an MPI job what docs/frameworks.md says that it gets beside variables.
func (c *Checker) takeFilesOff(pod *corev1.Pod, got *corev1.PodSpec, job *v1alpha1.TrainingJob, slot state.Slot) {
	if job.Spec.Framework != v1alpha1.MPI || slot.Role != v1alpha1.Launcher && !hasKey(&job.Spec) {
		return
	}
	template := job.Spec.ReplicaSpecs[slot.Role].Template.Spec
	c.takeVolumeOff(pod, got, mpiVolume)
	got.Containers = c.takeMountOff(pod, got.Containers, corev1.VolumeMount{Name: mpiVolume, MountPath: mpiFolder, ReadOnly: true})
	if main := template.Containers[0]; slot.Role == v1alpha1.Worker && hasKey(&job.Spec) && len(main.Command)+len(main.Args) == 0 {
		if len(got.Containers[0].Command) == 0 {
			c.violate("16 provenance: %s runs no sshd", pod.Name)
		}
		got.Containers[0].Command = nil
	}
}

// takeVolumeOff takes away the last volume, which has that name.
func (c *Checker) takeVolumeOff(pod *corev1.Pod, got *corev1.PodSpec, name string) {
	last := len(got.Volumes) - 1
	if last < 0 || got.Volumes[last].Name != name {
		c.violate("16 provenance: %s has no volume %s", pod.Name, name)
		return
	}
	if got.Volumes = got.Volumes[:last]; last == 0 {
		got.Volumes = nil
	}
}

// takeMountOff returns the containers without their last mount, which is as wanted.
func (c *Checker) takeMountOff(pod *corev1.Pod, containers []corev1.Container, want corev1.VolumeMount) []corev1.Container {
	containers = slices.Clone(containers)
	for i := range containers {
		mounts := containers[i].VolumeMounts
		last := len(mounts) - 1
		if last < 0 || !equality.Semantic.DeepEqual(mounts[last], want) {
			c.violate("16 provenance: %s does not have its files in %s", pod.Name, want.MountPath)
			break
		}
		containers[i].VolumeMounts = mounts[:last]
	}
	return containers
}
