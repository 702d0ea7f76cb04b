//go:build e2e

package api_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/test/others/kubeflow"
)

// installed are the CRDs of Kubeflow and JobSet that these tests have installed. They stay until all tests have ended: the API server needs seconds to serve a
// kind again that has gone.
var installed []*unstructured.Unstructured

// withKubeflowKinds installs Kubeflow's CRDs, as its module has them, where the cluster has none.
func withKubeflowKinds(t *testing.T) {
	t.Helper()
	var kinds []schema.GroupVersionKind
	for kind := range kubeflowJobs {
		kinds = append(kinds, schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: kind})
	}
	installKinds(t, kubeflow.TrainingOperator, "manifests/base/crds/kubeflow.org_*.yaml", kinds...)
}

// installKinds installs the CRDs of a module for these kinds, and returns once the API server serves them.
func installKinds(t *testing.T, module kubeflow.Module, pattern string, kinds ...schema.GroupVersionKind) {
	t.Helper()
	dir, err := module.Dir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) != len(kinds) {
		t.Fatalf("%d CRDs, want %d: %v", len(files), len(kinds), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &crd.Object); err != nil {
			t.Fatal(err)
		}
		err = admin.Create(t.Context(), crd)
		switch {
		case err == nil:
			installed = append(installed, crd)
		case !apierrors.IsAlreadyExists(err):
			t.Fatal(err)
		}
	}
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		eventually(t, kind.Kind+" is served", func() error { return admin.List(t.Context(), list, client.InNamespace("default")) }, "")
	}
}

// removeKubeflowKinds removes the CRDs that the tests have installed.
func removeKubeflowKinds() error {
	var failed error
	for _, crd := range installed {
		failed = errors.Join(failed, client.IgnoreNotFound(admin.Delete(context.Background(), crd)))
	}
	return failed
}

// kubeflowJobs are a good job of each kind. CONTAINER(name) stands for a template with a container of that name.
var kubeflowJobs = map[string]string{
	"PyTorchJob": `{pytorchReplicaSpecs: {Master: {replicas: 1, template: CONTAINER(pytorch)}, Worker: {replicas: 2, template: CONTAINER(pytorch)}}}`,
	"TFJob":      `{tfReplicaSpecs: {Chief: {template: CONTAINER(tensorflow)}, Worker: {replicas: 2, template: CONTAINER(tensorflow)}}}`,
	"XGBoostJob": `{xgbReplicaSpecs: {Master: {replicas: 1, template: CONTAINER(xgboost)}, Worker: {replicas: 2, template: CONTAINER(xgboost)}}}`,
	"PaddleJob":  `{paddleReplicaSpecs: {Worker: {replicas: 2, template: CONTAINER(paddle)}}}`,
	"JAXJob":     `{jaxReplicaSpecs: {Worker: {replicas: 2, template: CONTAINER(jax)}}}`,
	"MPIJob":     `{mpiReplicaSpecs: {Launcher: {template: CONTAINER(mpi)}}}`,
}

// kubeflowJob returns the good job of the kind in the namespace, changed by a merge patch in YAML.
func kubeflowJob(t *testing.T, namespace, kind, change string) *unstructured.Unstructured {
	t.Helper()
	templates := func(text string) string {
		for _, name := range []string{"pytorch", "tensorflow", "xgboost", "paddle", "jax", "mpi", "main"} {
			text = strings.ReplaceAll(text, "CONTAINER("+name+")", `{spec: {containers: [{name: `+name+`, image: busybox}]}}`)
		}
		return text
	}
	object := parse(t, `{apiVersion: kubeflow.org/v1, kind: `+kind+`, metadata: {name: good}, spec: `+templates(kubeflowJobs[kind])+`}`)
	merge(object, parse(t, templates(change)))
	job := &unstructured.Unstructured{Object: object}
	job.SetNamespace(namespace)
	return job
}

// newKubeflowJobs are changes of a valid job, each with the sentence that refuses it; an empty sentence means that the job is accepted. The cases
// come from the tests of Kubeflow's webhooks, and from what these accept.
var newKubeflowJobs = []struct{ name, kind, change, refusal string }{
	{"a name that begins with a digit", "PyTorchJob", `metadata: {name: 0-test}`, "metadata.name 0-test cannot be part of host names: write at most 63 small letters"},
	{"a name with a dot", "JAXJob", `metadata: {name: a.b}`, "metadata.name a.b cannot be part of host names"},
	{"a name of 64 letters", "TFJob", `metadata: {name: ` + strings.Repeat("a", 64) + `}`, "cannot be part of host names"},
	{"a generated name", "PaddleJob", `metadata: {name: null, generateName: good-}`, ""},
	{"no container", "PyTorchJob", `spec: {pytorchReplicaSpecs: {Worker: {template: {spec: {containers: []}}}}}`,
		"spec.pytorchReplicaSpecs[Worker].template.spec.containers is empty: write a container with the name pytorch"},
	{"a role without template", "TFJob", `spec: {tfReplicaSpecs: {Worker: {template: null}}}`, "spec.tfReplicaSpecs[Worker].template.spec.containers is empty"},
	{"no image", "XGBoostJob", `spec: {xgbReplicaSpecs: {Worker: {template: {spec: {containers: [{name: xgboost}]}}}}}`,
		"spec.xgbReplicaSpecs[Worker].template.spec.containers has a container without image: write its image"},
	{"a side-car without image", "JAXJob", `spec: {jaxReplicaSpecs: {Worker: {template: {spec: {containers: [{name: jax, image: i}, {name: log}]}}}}}`, "has a container without image"},
	{"an empty image", "PaddleJob", `spec: {paddleReplicaSpecs: {Worker: {template: {spec: {containers: [{name: paddle, image: ""}]}}}}}`, "has a container without image"},
	{"another container name: PyTorch", "PyTorchJob", `spec: {pytorchReplicaSpecs: {Worker: {template: CONTAINER(main)}}}`,
		"spec.pytorchReplicaSpecs[Worker].template.spec.containers has no container with the name pytorch: give the container that trains this name"},
	{"another container name: TensorFlow", "TFJob", `spec: {tfReplicaSpecs: {Chief: {template: CONTAINER(main)}}}`, "no container with the name tensorflow"},
	{"another container name: XGBoost", "XGBoostJob", `spec: {xgbReplicaSpecs: {Master: {template: CONTAINER(main)}}}`, "no container with the name xgboost"},
	{"another container name: Paddle", "PaddleJob", `spec: {paddleReplicaSpecs: {Worker: {template: CONTAINER(main)}}}`, "no container with the name paddle"},
	{"another container name: JAX", "JAXJob", `spec: {jaxReplicaSpecs: {Worker: {template: CONTAINER(main)}}}`, "no container with the name jax"},
	{"a side-car before the container", "JAXJob", `spec: {jaxReplicaSpecs: {Worker: {template: {spec: {containers: [{name: log, image: i}, {name: jax, image: i}]}}}}}`, ""},
	{"an unknown role: PyTorch", "PyTorchJob", `spec: {pytorchReplicaSpecs: {PS: {template: CONTAINER(pytorch)}}}`, "spec.pytorchReplicaSpecs has an unknown role, PS: write Master or Worker"},
	{"a role in small letters", "PyTorchJob", `spec: {pytorchReplicaSpecs: {worker: {template: CONTAINER(pytorch)}}}`, "has an unknown role, worker: write Master or Worker"},
	{"an unknown role: JAX", "JAXJob", `spec: {jaxReplicaSpecs: {Master: {template: CONTAINER(jax)}}}`, "has an unknown role, Master: write Worker"},
	{"a role in small letters: TensorFlow", "TFJob", `spec: {tfReplicaSpecs: {ps: {template: CONTAINER(tensorflow)}}}`, ""},
	{"two masters", "PyTorchJob", `spec: {pytorchReplicaSpecs: {Master: {replicas: 2}}}`, "spec.pytorchReplicaSpecs[Master].replicas is not 1: write 1, because a job has one master"},
	{"a master without a number", "XGBoostJob", `spec: {xgbReplicaSpecs: {Master: {replicas: null}}}`, "spec.xgbReplicaSpecs[Master].replicas is not 1"},
	{"two masters of Paddle", "PaddleJob", `spec: {paddleReplicaSpecs: {Master: {replicas: 2, template: CONTAINER(paddle)}}}`, ""},
	{"no master: XGBoost", "XGBoostJob", `spec: {xgbReplicaSpecs: {Master: null}}`, "spec.xgbReplicaSpecs has no Master: write one with replicas: 1"},
	{"no master: PyTorch", "PyTorchJob", `spec: {pytorchReplicaSpecs: {Master: null}}`, ""},
	{"no worker: PyTorch", "PyTorchJob", `spec: {pytorchReplicaSpecs: {Worker: {replicas: 0}}}`, "spec.pytorchReplicaSpecs[Worker].replicas is below 1: write at least 1, or leave the role out"},
	{"workers without a number", "PyTorchJob", `spec: {pytorchReplicaSpecs: {Worker: {replicas: null}}}`, ""},
	{"a chief and a master", "TFJob", `spec: {tfReplicaSpecs: {Master: {template: CONTAINER(tensorflow)}}}`, "spec.tfReplicaSpecs has a Chief and a Master: leave one of them out"},
	{"elastic without workers", "PyTorchJob", `spec: {elasticPolicy: {rdzvBackend: c10d}, pytorchReplicaSpecs: {Worker: null}}`, "spec.elasticPolicy needs workers"},
	{"processes in the elastic policy", "PyTorchJob", `spec: {elasticPolicy: {nProcPerNode: 2}}`, ""},
	{"processes in two places", "PyTorchJob", `spec: {nprocPerNode: "2", elasticPolicy: {nProcPerNode: 2}}`, "are both set: leave out elasticPolicy.nProcPerNode"},
	{"managed by Kubeflow's operator", "TFJob", `spec: {runPolicy: {managedBy: kubeflow.org/training-operator}}`, ""},
	{"managed by MultiKueue", "XGBoostJob", `spec: {runPolicy: {managedBy: kueue.x-k8s.io/multikueue}}`, ""},
	{"managed by another one", "PaddleJob", `spec: {runPolicy: {managedBy: other}}`,
		"spec.runPolicy.managedBy other is not supported: leave it out, or write kubeflow.org/training-operator or kueue.x-k8s.io/multikueue"},
	{"MPI", "MPIJob", `{}`, "MPIJob of kubeflow.org/v1 is not served, because its launcher starts ranks by kubectl: write a TrainingJob with kubectl tj convert -f FILE, or install the MPI operator"},
}

// validated returns a namespace in which the policies of the Kubeflow kinds hold, and only there.
func validated(t *testing.T) string {
	t.Helper()
	withKubeflowKinds(t)
	ns := namespace(t, nil)
	install(t, kubeflowKinds, ns, &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}},
	})
	for kind, sentence := range map[string]string{"JAXJob": "metadata.name", "MPIJob": "not served"} {
		bad := kubeflowJob(t, ns, kind, `metadata: {name: "0"}`)
		eventually(t, "the policies hold", func() error { return admin.Create(t.Context(), bad.DeepCopy(), client.DryRunAll) }, sentence)
	}
	return ns
}

func TestKubeflowJobsAreCheckedAsTheirWebhooksDid(t *testing.T) {
	ns := validated(t)
	for kind := range kubeflowJobs {
		if kind != "MPIJob" {
			expectRefusal(t, admin.Create(t.Context(), kubeflowJob(t, ns, kind, `{}`), client.DryRunAll), "")
		}
	}
	for _, c := range newKubeflowJobs {
		t.Run(c.name, func(t *testing.T) {
			expectRefusal(t, admin.Create(t.Context(), kubeflowJob(t, ns, c.kind, c.change), client.DryRunAll), c.refusal)
		})
	}
}

// A job that has a wrong value from before the policy can still be labelled, get a status, and lose a finalizer.
func TestAnExistingKubeflowJobIsCheckedWhenItsSpecChanges(t *testing.T) {
	withKubeflowKinds(t)
	ns := namespace(t, nil)
	wrong := kubeflowJob(t, ns, "TFJob", `{metadata: {name: wrong}, spec: {runPolicy: {managedBy: kueue.x-k8s.io/multikueue}, tfReplicaSpecs: {Chief: {template: CONTAINER(main)}}}}`)
	create(t, wrong)
	install(t, kubeflowKinds, ns, &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}},
	})
	change := func(patch string) error {
		return admin.Patch(t.Context(), wrong.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch)), client.DryRunAll)
	}
	eventually(t, "the policies hold", func() error { return change(`{"spec": {"runPolicy": {"suspend": true}}}`) }, "no container with the name tensorflow")
	expectRefusal(t, change(`{"metadata": {"labels": {"a": "b"}}}`), "")
	expectRefusal(t, change(`{"spec": {"runPolicy": {"managedBy": null}}}`), "spec.runPolicy.managedBy cannot change in an existing job. Delete the job and create it again")
	status := client.RawPatch("application/merge-patch+json", []byte(`{"status": {"conditions": []}}`))
	expectRefusal(t, admin.Status().Patch(t.Context(), wrong.DeepCopy(), status, client.DryRunAll), "")
}

// What Kubeflow's own examples write is accepted, as their webhooks did.
func TestKubeflowsExamplesPassTheChecks(t *testing.T) {
	ns := validated(t)
	files, err := kubeflow.TrainingOperator.Manifests(t.Context(), "examples")
	if err != nil {
		t.Fatal(err)
	}
	jobs := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(text), "\n---\n") {
			job := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &job.Object); err != nil {
				t.Fatal(err)
			}
			if _, isServed := kubeflowJobs[job.GetKind()]; !isServed || job.GetKind() == "MPIJob" {
				continue
			}
			job.SetNamespace(ns)
			jobs++
			if err := admin.Create(t.Context(), job, client.DryRunAll, client.FieldValidation(metav1.FieldValidationIgnore)); err != nil {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
		}
	}
	if jobs < 20 {
		t.Errorf("%d jobs, want at least 20: is the search wrong?", jobs)
	}
}
