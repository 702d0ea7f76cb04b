package state

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// SSHSecretName returns the name of the Secret with an MPI job's key: another job of the same name has another key.
func SSHSecretName(job *v1alpha1.TrainingJob) string {
	uid := string(job.UID)
	return job.Name + "-" + uid[:min(len(uid), 8)] + "-ssh"
}

// RunsSSHD reports whether the main container of the role's pods is the operator's sshd: a worker of an MPI job that has nothing else to run.
func RunsSSHD(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) bool {
	if role != v1alpha1.Worker || !spec.LaunchesBySSH() {
		return false
	}
	template := spec.ReplicaSpecs[role].Template
	main := MainOfTemplate(&template)
	return slices.ContainsFunc(template.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == main && len(c.Command)+len(c.Args) == 0
	})
}
