//go:build install

package install_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/api/testbed"
)

const operatorName = "trainingjob-operator"

// startInstalled starts the operator that is installed in a namespace: a process with the arguments of its Deployment and the rights of its
// service account. The pods of the Deployment are on nodes that run nothing.
func startInstalled(t *testing.T, namespace string) *testbed.Operator {
	t.Helper()
	var deployment appsv1.Deployment
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: operatorName}, &deployment); err != nil {
		t.Fatal(err)
	}
	args := slices.DeleteFunc(deployment.Spec.Template.Spec.Containers[0].Args, func(arg string) bool {
		return strings.Contains(arg, "-bind-address=") // two operators on one machine
	})
	account := "system:serviceaccount:" + namespace + ":" + deployment.Spec.Template.Spec.ServiceAccountName
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := testbed.WriteKubeconfigAs(kubeconfig, os.Getenv("KUBECONFIG"), account); err != nil {
		t.Fatal(err)
	}
	operator, err := testbed.StartOperator(binary, kubeconfig, "", t.Output(), append(args, "--leader-election-namespace="+namespace)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(operator.Kill)
	return operator
}

// expectLeader waits until an operator leads in the namespace.
func expectLeader(t *testing.T, namespace string) {
	t.Helper()
	leads := func(ctx context.Context) (bool, error) {
		var lease coordinationv1.Lease
		err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: operatorName}, &lease)
		return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "", client.IgnoreNotFound(err)
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 2*time.Minute, true, leads); err != nil {
		t.Fatalf("no operator leads in %s: %v", namespace, err)
	}
}

// aJob is a job of two workers that run until they are deleted.
const aJob = `
apiVersion: trainingjob.dev/v1alpha1
kind: TrainingJob
metadata: {name: NAME}
spec:
  framework: Custom
  replicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: main, image: "registry.example.com/training:v1"}]}}
`

// submit creates a job, and waits until it runs.
func submit(t *testing.T, namespace, name string) {
	t.Helper()
	kubectl(t, strings.ReplaceAll(aJob, "NAME", name), "apply", "--validate=strict", "-n", namespace, "-f", "-")
	expectRunning(t, namespace, name)
}

func expectRunning(t *testing.T, namespace, name string) {
	t.Helper()
	kubectl(t, "", "wait", "-n", namespace, "--for=condition=Running", "--timeout=120s", "tj/"+name)
}

// pods returns the pods of a job with their UIDs.
func pods(t *testing.T, namespace string) string {
	t.Helper()
	return kubectl(t, "", "get", "pods", "-n", namespace, "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{\"\\n\"}{end}")
}

// newNamespace makes a namespace, as docs/install.md says, until the test ends.
func newNamespace(t *testing.T, name string) {
	t.Helper()
	kubectl(t, "", "create", "namespace", name)
	t.Cleanup(func() { remove(t, "namespace", name) })
}

// remove deletes what a test has made, and waits until it is gone.
func remove(t *testing.T, args ...string) {
	command := strings.Fields(os.Getenv("KUBECTL"))
	all := slices.Concat(command[1:], []string{"delete", "--ignore-not-found", "--timeout=60s"}, args)
	if _, err := execute(context.Background(), "", command[0], all...); err != nil { // the test's own context has ended
		t.Errorf("deleting %v: %v", args, err)
	}
}
