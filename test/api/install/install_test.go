//go:build install

// Package install_test holds the ways to install the operator to what docs/install.md says: that the Helm chart and kustomize install the same
// objects, and that each way installs, upgrades, rolls back and goes on a real API server, with the real helm and the real kustomize.
// make test-install runs it, on a lab of its own without an operator.
package install_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainingjob/operator/test/api/testbed"
)

const (
	manifests = "../../../manifests"
	chart     = manifests + "/chart"
	helm      = "../../../bin/helm"
	binary    = "../../../bin/operator"
)

// registry is what every rendering of the chart needs; kustomize's base names the same, which leads nowhere.
var registry = []string{"--set", "image.registry=registry.invalid", "--set", "image.tag=name-your-registry"}

// The API server of the lab, as its administrator.
var admin client.Client

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		fmt.Fprintln(os.Stderr, "test/api/install: these tests need a lab, and KUBECONFIG is not set: run make test-install")
		os.Exit(1)
	}
	var err error
	if admin, err = testbed.Connect(path, "trainingjob-install"); err != nil {
		fmt.Fprintln(os.Stderr, "test/api/install:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// execute runs a program and returns what it prints, or its complaint as the error.
func execute(ctx context.Context, input, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin = strings.NewReader(input)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", errors.New(strings.TrimSpace(complaint.String()))
	}
	return string(out), nil
}

// must returns what a program has printed.
func must(t *testing.T, input, program string, args ...string) string {
	t.Helper()
	out, err := execute(t.Context(), input, program, args...)
	if err != nil {
		t.Fatalf("%s %s: %v", filepath.Base(program), strings.Join(args, " "), err)
	}
	return out
}

// kubectl runs the kubectl of the environment: KUBECTL, as "bin/lab kubectl".
func kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	command := strings.Fields(os.Getenv("KUBECTL"))
	if len(command) == 0 {
		t.Fatal("KUBECTL is not set: run make test-install")
	}
	return must(t, input, command[0], append(command[1:], args...)...)
}

// kustomized returns the objects of a kustomization with these resources and components, folders of manifests.
func kustomized(t *testing.T, resource string, components ...string) (string, []*unstructured.Unstructured) {
	t.Helper()
	folder := t.TempDir()
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
	if resource != "" {
		text += "resources: [" + relative(t, folder, resource) + "]\n"
	}
	for i, component := range components {
		if i == 0 {
			text += "components:\n"
		}
		text += "- " + relative(t, folder, "components/"+component) + "\n"
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rendered := kubectl(t, "", "kustomize", folder)
	return rendered, decode(t, rendered)
}

// relative returns the path of a folder of manifests from another folder: kustomize takes no absolute one.
func relative(t *testing.T, from, folder string) string {
	t.Helper()
	to, err := filepath.Abs(filepath.Join(manifests, folder))
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Rel(from, to)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// templated returns what helm makes of the chart in a namespace.
func templated(t *testing.T, namespace string, args ...string) []*unstructured.Unstructured {
	t.Helper()
	return decode(t, must(t, "", helm, append([]string{"template", "trainingjob", chart, "--namespace", namespace}, args...)...))
}

func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := new(unstructured.Unstructured)
		switch err := decoder.Decode(object); {
		case errors.Is(err, io.EOF):
			return objects
		case err != nil:
			t.Fatalf("reading what was rendered: %v", err)
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}
