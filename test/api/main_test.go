//go:build e2e

// Package api_test holds the promises of the manifests and of the API to a real API server: that they apply with
// strict validation, what the operator may do, and which jobs are refused with which sentence.
// It leaves nothing behind, and no job of its own is run: each is a dry run or managed by somebody else.
package api_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainingjob/operator/test/api/testbed"
)

// nobody is a spec.managedBy that keeps the operator's hands off.
const nobody = "example.com/nobody"

// fieldOwner is who writes in these tests.
const fieldOwner = "api-test"

// The API server under test, as an administrator. admin refuses unknown fields.
var (
	config *rest.Config
	admin  client.Client
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	if err := connect(); err != nil {
		fmt.Fprintln(os.Stderr, "test/api:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := removeKubeflowKinds(); err != nil {
		fmt.Fprintln(os.Stderr, "test/api: removing Kubeflow's CRDs:", err)
		code = 1
	}
	os.Exit(code)
}

func connect() error {
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		return errors.New("these tests need a cluster, and KUBECONFIG is not set: run make test, or make e2e KUBECONFIG=")
	}
	var err error
	if config, err = testbed.Config(path, "trainingjob-api"); err != nil {
		return err
	}
	admin, err = connectAs("")
	return err
}

// connectAs returns a client of user, or of the administrator if user is empty.
func connectAs(user string) (client.Client, error) {
	own := rest.CopyConfig(config)
	own.Impersonate.UserName = user
	c, err := client.New(own, client.Options{Scheme: testbed.Scheme})
	if err != nil {
		return nil, err
	}
	return client.WithFieldValidation(client.WithFieldOwner(c, fieldOwner), metav1.FieldValidationStrict), nil
}

// since skips the test on a Kubernetes that is older than the first that has what it needs.
func since(t *testing.T, first, what string) {
	t.Helper()
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	found, err := server.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.MustParseGeneric(found.GitVersion).LessThan(version.MustParseGeneric(first)) {
		t.Skipf("%s needs Kubernetes %s, this is %s", what, first, found.GitVersion)
	}
}

// namespace returns the name of a new namespace with labels, which goes when the test ends.
func namespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "api-", Labels: labels}}
	create(t, ns)
	return ns.Name
}

// create creates object until the test ends.
func create(t *testing.T, object client.Object) {
	t.Helper()
	if err := admin.Create(t.Context(), object); err != nil {
		t.Fatalf("creating %s: %v", object.GetName(), err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if err := client.IgnoreNotFound(admin.Delete(context.Background(), object)); err != nil {
			t.Errorf("deleting %s: %v", object.GetName(), err)
		}
	})
}

// kubectl runs the kubectl of the environment (KUBECTL, or else from PATH) and returns what it printed.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	command := strings.Fields(os.Getenv("KUBECTL"))
	if len(command) == 0 {
		command = []string{"kubectl"}
	}
	run := exec.CommandContext(t.Context(), command[0], append(command[1:], args...)...)
	var stderr strings.Builder
	run.Stderr = &stderr
	out, err := run.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}
