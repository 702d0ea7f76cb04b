package build

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// SSHKey is a pair of keys as ssh writes them into files.
type SSHKey struct {
	// Private is the private key in OpenSSH's own PEM form.
	Private []byte
	// Public is the line of authorized_keys: "ssh-ed25519 AAAA...".
	Public []byte
}

// The keys of the Secret, beside ssh-privatekey. All but ssh-publickey are files of launcher and workers.
const (
	sshPublicKey      = "ssh-publickey"
	sshAuthorizedKeys = "authorized_keys"
	sshKnownHosts     = "known_hosts"
	sshConfig         = "config"
	sshdConfig        = "sshd_config"
)

// SSHPort is the port of sshd in both files below.
const SSHPort = 2222

// clientConfig is what ssh needs to know. A pod has its name once it has an address, which is before its image is there: the first
// line waits for the one, ConnectionAttempts for the other, a second between two of them. Who is late is the matter of the job's
// deadlines, not of ssh.
const clientConfig = `Match exec "until getent hosts %h >/dev/null; do sleep 1; done"
Host *
  Port 2222
  IdentityFile /etc/mpi/ssh/id
  IdentitiesOnly yes
  UserKnownHostsFile /etc/mpi/ssh/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
  ConnectTimeout 10
  ConnectionAttempts 86400
  ServerAliveInterval 15
  ServerAliveCountMax 4
  SendEnv TRAININGJOB_ATTEMPT TRAININGJOB_LIFE
  LogLevel ERROR
`

// serverConfig is the configuration of sshd. StrictModes no: otherwise sshd refuses the folder of the volume, because its mode lets every
// process of the pod write, although the mount is read-only.
const serverConfig = `Port 2222
HostKey /etc/mpi/ssh/id
AuthorizedKeysFile /etc/mpi/ssh/authorized_keys
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
AcceptEnv TRAININGJOB_ATTEMPT TRAININGJOB_LIFE
PidFile none
UseDNS no
MaxStartups 1000
MaxSessions 1000
Subsystem sftp internal-sftp
LogLevel ERROR
`

// SSHSecret returns the Secret with the key of an MPI job. The key is the launcher's and the workers', and their hosts' as well, so
// that ssh knows each host although no pod had a key before it was created.
func SSHSecret(job *v1alpha1.TrainingJob, key SSHKey) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metaOf(job, state.SSHSecretName(job)),
		Type:       corev1.SecretTypeSSHAuth,
		Immutable:  ptr.To(true),
		Data: map[string][]byte{
			corev1.SSHAuthPrivateKey: key.Private,
			sshPublicKey:             key.Public,
			sshAuthorizedKeys:        key.Public,
			sshKnownHosts:            append([]byte("* "), key.Public...),
			sshConfig:                []byte(clientConfig),
			sshdConfig:               []byte(serverConfig),
		},
	}
}

// SSHFiles returns the files of SSHSecret below a folder of a volume, with that mode.
func SSHFiles(job *v1alpha1.TrainingJob, folder string, mode int32) corev1.VolumeProjection {
	items := []corev1.KeyToPath{{Key: corev1.SSHAuthPrivateKey, Path: folder + "id", Mode: &mode}}
	for _, key := range []string{sshAuthorizedKeys, sshKnownHosts, sshConfig, sshdConfig} {
		items = append(items, corev1.KeyToPath{Key: key, Path: folder + key, Mode: &mode})
	}
	return corev1.VolumeProjection{Secret: &corev1.SecretProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: state.SSHSecretName(job)}, Items: items}}
}
