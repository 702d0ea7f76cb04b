//go:build kubeflow

package moving

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/api/testbed"
)

// root is the top folder of the tree.
const root = "../../../.."

// The lab, and its API server as an administrator.
var (
	lab  *testbed.Lab
	kube client.WithWatch
)

func TestMain(m *testing.M) {
	if err := connect(); err != nil {
		fmt.Fprintln(os.Stderr, "test/others/kubeflow/moving:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func connect() (err error) {
	if lab, err = testbed.GivenLab(); err != nil {
		return fmt.Errorf("%w; run make test-kubeflow", err)
	}
	if lab.Binary, err = filepath.Abs(filepath.Join(root, "bin", "lab")); err != nil {
		return err
	}
	kube, err = testbed.Connect(lab.Kubeconfig(), "trainingjob-moving")
	return err
}

// startOurs installs this operator and starts it as its service account; further are flags.
func startOurs(t *testing.T, further ...string) *testbed.Operator {
	t.Helper()
	kubectl(t, "apply", "--server-side", "--force-conflicts", "--kustomize", filepath.Join(root, "test/others/kubeflow/installation"))
	own := filepath.Join(t.TempDir(), "kubeconfig")
	err := testbed.WriteKubeconfigAs(own, lab.Kubeconfig(), "system:serviceaccount:trainingjob-system:trainingjob-operator",
		"system:serviceaccounts", "system:serviceaccounts:trainingjob-system", "system:authenticated")
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(lab.File("ours.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--kubeflow-kinds=PyTorchJob,TFJob,XGBoostJob,PaddleJob,JAXJob"}, further...)
	operator, err := testbed.StartOperator(filepath.Join(root, "bin", "operator"), own, "", log, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		operator.Kill()
		_ = log.Close()
	})
	return operator
}

// startFormer starts Kubeflow's operator, until the test ends or ends it.
func startFormer(t *testing.T) (end func()) {
	t.Helper()
	if said, err := lab.Run(t.Context(), "peer", "start", "training-operator"); err != nil {
		t.Fatal(err, said)
	}
	ended := false
	end = func() {
		if said, err := lab.Run(context.Background(), "peer", "stop", "training-operator"); err != nil && !ended {
			t.Error(err, said)
		}
		ended = true
	}
	t.Cleanup(func() {
		if !ended {
			end()
		}
	})
	untilWebhooksAnswer(t)
	return end
}

// untilWebhooksAnswer waits for the webhooks of Kubeflow's operator, which begin to answer some time after it is ready.
func untilWebhooksAnswer(t *testing.T) {
	t.Helper()
	for kind, field := range map[string]string{"PyTorchJob": "pytorch", "TFJob": "tf", "XGBoostJob": "xgb", "PaddleJob": "paddle", "JAXJob": "jax"} {
		bad := parse(t, `{apiVersion: kubeflow.org/v1, kind: `+kind+`, metadata: {name: bad, namespace: default}, spec: {`+field+`ReplicaSpecs: {}}}`)
		until(t, "the webhook of "+kind+" answers", func() (bool, any) {
			err := kube.Create(t.Context(), bad.DeepCopy(), client.DryRunAll)
			return err == nil || !apierrors.IsInternalError(err), err
		})
	}
}

func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	said, err := lab.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func namespace(t *testing.T, prefix string) string {
	t.Helper()
	name, err := testbed.NewNamespace(t.Context(), kube, prefix+"-")
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// exit has the pods end with that code, or with another order to the fake nodes.
func exit(t *testing.T, code string, pods ...corev1.Pod) {
	t.Helper()
	for i := range pods {
		if err := testbed.Tell(t.Context(), kube, &pods[i], testbed.Annotations{"exit-code": code}); err != nil {
			t.Fatal(err)
		}
	}
}

// until waits for something, and fails the test with what was last seen.
func until(t *testing.T, what string, is func() (bool, any)) {
	t.Helper()
	var seen any
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 2*time.Minute, true, func(context.Context) (done bool, _ error) {
		done, seen = is()
		return done, nil
	})
	if err != nil {
		t.Fatalf("%s: not within 2 minutes; last seen: %v", what, seen)
	}
}
