package state

import "github.com/trainingjob/operator/apis/training/v1alpha1"

// SSHSecretName returns the name of the Secret with an MPI job's key: another job of the same name has another key.
func SSHSecretName(job *v1alpha1.TrainingJob) string {
	uid := string(job.UID)
	return job.Name + "-" + uid[:min(len(uid), 8)] + "-ssh"
}
