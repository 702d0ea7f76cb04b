package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// account is a service account.
type account struct{ namespace, name string }

// rights is what manifests say of an operator's account and of what it may do; what they say of its pods has no use here.
type rights struct {
	account account
	// objects are the account, its namespace, its roles and the admission policies, with their bindings.
	objects []unstructured.Unstructured
}

// ofAccounts are the kinds of rights.objects.
var ofAccounts = []string{
	"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
}

// readRights reads what kubectl kustomize makes of a folder. It is an error if there is not exactly one Deployment, which
// names the account.
func readRights(rendered []byte) (rights, error) {
	objects, err := objectsOf(rendered, append(slices.Clone(ofAccounts), "Deployment")...)
	if err != nil {
		return rights{}, err
	}
	var found rights
	deployments := 0
	for i := range objects {
		if objects[i].GetKind() != "Deployment" {
			found.objects = append(found.objects, objects[i])
			continue
		}
		var deployment appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[i].Object, &deployment); err != nil {
			return rights{}, fmt.Errorf("reading Deployment %s: %w", objects[i].GetName(), err)
		}
		deployments++
		found.account = account{deployment.Namespace, deployment.Spec.Template.Spec.ServiceAccountName}
	}
	if deployments != 1 {
		return rights{}, fmt.Errorf("manifests with %d Deployments do not say which account is the operator's", deployments)
	}
	return found, nil
}

// grantOperator applies the rights of the manifests and returns a kubeconfig of the operator's account; without manifests
// that of an administrator.
func (l *lab) grantOperator(ctx context.Context) (string, error) {
	if l.OperatorManifests == "" {
		return l.dir.kubeconfig(), nil
	}
	rendered, err := l.kubectl(ctx, "kustomize", l.OperatorManifests)
	if err != nil {
		return "", err
	}
	granted, err := readRights(rendered)
	if err != nil {
		return "", fmt.Errorf("--operator-manifests %s: %w", l.OperatorManifests, err)
	}
	if err := l.applyAll(ctx, l.dir.file("operator-rights.json"), granted.objects); err != nil {
		return "", err
	}
	client, err := l.dir.client()
	if err != nil {
		return "", err
	}
	l.say("the operator is %s in %s, with the rights of %s", granted.account.name, granted.account.namespace, l.OperatorManifests)
	return l.kubeconfigOf(ctx, client, granted.account.namespace, granted.account.name)
}

// applyAll writes the objects to a file and applies it.
func (l *lab) applyAll(ctx context.Context, file string, objects []unstructured.Unstructured) error {
	content, err := json.Marshal(&unstructured.UnstructuredList{
		Object: map[string]any{"apiVersion": "v1", "kind": "List"}, Items: objects,
	})
	if err != nil {
		return fmt.Errorf("encoding %s: %w", filepath.Base(file), err)
	}
	if err := os.WriteFile(file, content, 0o644); err != nil {
		return fmt.Errorf("writing manifests: %w", err)
	}
	return l.apply(ctx, file)
}

// apply does what kubectl apply -f does. What is there already, such as a namespace, may have been made in another way.
func (l *lab) apply(ctx context.Context, manifest string) error {
	_, err := l.kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--field-manager=lab", "-f", manifest)
	return err
}

// kubectl runs this program's own kubectl as the lab's administrator and returns what it writes.
func (l *lab) kubectl(ctx context.Context, args ...string) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	command := exec.CommandContext(ctx, self, append([]string{"kubectl", "--kubeconfig", l.dir.kubeconfig()}, args...)...)
	var said bytes.Buffer
	command.Stderr = &said
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("kubectl %s: %w\n%s", args[0], err, &said)
	}
	return output, nil
}
