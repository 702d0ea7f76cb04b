package cluster

import (
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/ssh"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/build"
)

// createSSHKey creates the job's Secret with a new key. An existing Secret is as good: its name holds the job's UID. The operator
// never reads the Secret, and keeps no key.
func (c *Cluster) createSSHKey(ctx context.Context, job *v1alpha1.TrainingJob) error {
	key, err := newSSHKey()
	if err != nil {
		return fmt.Errorf("making an SSH key: %w", err)
	}
	secret := build.SSHSecret(job, key)
	err = c.client.Create(ctx, secret, client.DisableReadYourWritesConsistency)
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return orMissingRight(adviceOnKeys, fmt.Errorf("creating Secret %s: %w", secret.Name, err))
}

// newSSHKey returns a new pair of keys.
func newSSHKey() (build.SSHKey, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return build.SSHKey{}, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return build.SSHKey{}, err
	}
	line, err := ssh.NewPublicKey(public)
	if err != nil {
		return build.SSHKey{}, err
	}
	return build.SSHKey{Private: pem.EncodeToMemory(block), Public: ssh.MarshalAuthorizedKey(line)}, nil
}
