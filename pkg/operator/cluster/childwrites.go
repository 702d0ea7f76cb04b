package cluster

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/ssh"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
)

// create creates a child and returns its UID. An existing child of the job is as good as created. Any other object holds the
// name, for a while or for good.
func (c *Cluster) create(ctx context.Context, job *v1alpha1.TrainingJob, child client.Object, options ...client.CreateOption) (types.UID, error) {
	err := c.client.Create(ctx, child, options...)
	if err == nil {
		return child.GetUID(), nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("creating %T %s: %w", child, child.GetName(), &notCreated{err})
	}
	existing := child.DeepCopyObject().(client.Object) // of the same type
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(child), existing); err != nil {
		return "", fmt.Errorf("reading %T %s, which exists already: %w", child, child.GetName(), err)
	}
	if !state.IsOwnedBy(existing, job) {
		if isGoing(existing, job) {
			return "", &nameHeld{name: child.GetName()}
		}
		return "", newNameConflict(child, existing, job)
	}
	return existing.GetUID(), nil
}

// delete deletes the object if it still has the UID of the precondition. It does nothing if the object is gone or was replaced.
func (c *Cluster) delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	err := c.client.Delete(ctx, o, options...)
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("deleting %T %s: %w", o, o.GetName(), err)
}

// isGoing reports whether the object frees its name soon: it was deleted, or an earlier job of that name has left it behind.
func isGoing(o client.Object, job *v1alpha1.TrainingJob) bool {
	ref := state.OwnerOf(o)
	return !o.GetDeletionTimestamp().IsZero() || ref != nil && ref.Name == job.Name && ref.UID != job.UID
}

// createGroup creates the pod group. If the job's own group exists already, that is a conflict: it may have another minimum, or
// be in deletion. No pod may join it before the next reconcile.
func (c *Cluster) createGroup(ctx context.Context, job *v1alpha1.TrainingJob, group client.Object) error {
	uid, err := c.create(ctx, job, group)
	if err == nil && uid != group.GetUID() {
		return staleCache(job, "it does not show pod group "+group.GetName())
	}
	return err
}

// resize patches the pod group if it still has the UID. A group that was deleted or replaced is a conflict: no pod may join it.
func (c *Cluster) resize(ctx context.Context, job *v1alpha1.TrainingJob, step plan.ResizeGroup) error {
	step.Empty.SetNamespace(job.Namespace)
	step.Empty.SetName(step.Name)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": step.UID}, "spec": step.Spec})
	if err == nil {
		err = c.client.Patch(ctx, step.Empty, client.RawPatch(types.MergePatchType, patch))
	}
	switch {
	case err == nil && (step.Going || step.Empty.GetDeletionTimestamp() == nil):
		return nil
	case err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || isAnother(err):
		return staleCache(job, "pod group "+step.Name+" was deleted or replaced")
	default:
		return fmt.Errorf("resizing pod group %s: %w", step.Name, err)
	}
}

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
	return orMissingRight(adviceOnKeys, fmt.Errorf("creating Secret %s: %w", secret.Name, &notCreated{err}))
}

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
