//go:build kubeflow

package moving

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/test/others/kubeflow"
)

// Every example is accepted, runs, is suspended and resumed, and restarts when a replica fails, or fails if its restart policy says so.
func TestExamples(t *testing.T) {
	startOurs(t)
	untilPoliciesHold(t)
	served, refused := 0, 0
	for path, object := range examples(t) {
		if object.GetKind() == "MPIJob" {
			refused++
			object.SetNamespace("default")
			err := kube.Create(t.Context(), object, client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), "write a TrainingJob with kubectl tj convert -f FILE, or install the MPI operator") {
				t.Errorf("%s: %v, want a refusal that shows what to write", path, err)
			}
			continue
		}
		served++
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			playExample(t, object)
		})
	}
	if served != 25 || refused != 2 {
		t.Errorf("%d examples are served and %d refused, want 25 and 2", served, refused)
	}
}

// examples returns the jobs of the module's examples by their paths.
func examples(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	files, err := kubeflow.TrainingOperator.Manifests(t.Context(), "examples")
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string]*unstructured.Unstructured{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(text), "\n---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(object.GetAPIVersion(), "kubeflow.org/") {
				_, path, _ := strings.Cut(filepath.ToSlash(file), "/examples/")
				jobs[path] = object
			}
		}
	}
	return jobs
}

// untilPoliciesHold waits until the API server acts on the admission policies of the installation.
func untilPoliciesHold(t *testing.T) {
	t.Helper()
	bad := parse(t, `{apiVersion: kubeflow.org/v1, kind: MPIJob, metadata: {name: bad, namespace: default}, spec: {mpiReplicaSpecs: {}}}`)
	until(t, "the admission policies hold", func() (bool, any) {
		err := kube.Create(t.Context(), bad.DeepCopy(), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "is not served"), err
	})
}

func parse(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func playExample(t *testing.T, object *unstructured.Unstructured) {
	object.SetNamespace(namespace(t, "example"))
	bindClaims(t, object)
	if err := kube.Create(t.Context(), object, client.FieldValidation(metav1.FieldValidationIgnore)); err != nil {
		t.Fatal(err)
	}
	j := job{object.GetNamespace(), object.GetKind(), object.GetName()}
	j.until(t, "Running")
	names := slices.Sorted(maps.Keys(j.pods(t)))

	j.suspend(t, true)
	j.until(t, "Suspended")
	until(t, "no pod is left", func() (bool, any) {
		var left corev1.PodList
		err := kube.List(t.Context(), &left, client.InNamespace(j.namespace))
		return err == nil && len(left.Items) == 0, len(left.Items)
	})
	j.suspend(t, false)
	j.until(t, "Running")
	before := j.pods(t)
	if after := slices.Sorted(maps.Keys(before)); !slices.Equal(names, after) {
		t.Errorf("the pods are %v, and were %v before the suspension", after, names)
	}

	victim := before[names[len(names)-1]]
	policies, restartAlone := policiesOf(object)
	exit(t, "137", victim)
	if policies[victim.Labels["training.kubeflow.org/replica-type"]] == "Never" {
		j.until(t, "Failed")
		return
	}
	wanted := len(before) // a collective restarts as a whole
	if restartAlone {
		wanted = 1
	}
	until(t, "pods run in place of those that the failure ended", func() (bool, any) {
		fresh, all := 0, j.pods(t)
		for _, pod := range all {
			if pod.Status.Phase == corev1.PodRunning && before[pod.Name].UID != pod.UID {
				fresh++
			}
		}
		return fresh == wanted, fresh
	})
	j.until(t, "Running")
}

// policiesOf returns the restart policy of each role by its label, and whether a replica restarts alone, as in a job with parameter servers and in
// an elastic job. Under Kubeflow's operator a role
// without a policy has OnFailure in a PyTorchJob, a PaddleJob and a JAXJob, and Never in the others.
func policiesOf(object *unstructured.Unstructured) (policies map[string]string, restartAlone bool) {
	policies = map[string]string{}
	spec, _, _ := unstructured.NestedMap(object.Object, "spec")
	restartAlone = spec["elasticPolicy"] != nil
	for field, roles := range spec {
		if !strings.HasSuffix(field, "ReplicaSpecs") {
			continue
		}
		for role, each := range roles.(map[string]any) {
			replica, _ := each.(map[string]any)
			policy, _ := replica["restartPolicy"].(string)
			if policy == "" && (object.GetKind() == "TFJob" || object.GetKind() == "XGBoostJob") {
				policy = "Never"
			}
			policies[strings.ToLower(role)] = policy
			restartAlone = restartAlone || strings.EqualFold(role, "PS")
		}
	}
	return policies, restartAlone
}

// bindClaims creates the volumes that the job's pods claim, as their user had done.
func bindClaims(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	text, err := yaml.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		_, name, found := strings.Cut(line, "claimName: ")
		if !found {
			continue
		}
		ns := object.GetNamespace()
		size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
		none := ""
		volume := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: ns + "-" + name},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: size, AccessModes: modes, ClaimRef: &corev1.ObjectReference{Namespace: ns, Name: name},
				PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp"}},
			},
		}
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: modes, StorageClassName: &none, VolumeName: volume.Name, Resources: corev1.VolumeResourceRequirements{Requests: size},
			},
		}
		if err := client.IgnoreAlreadyExists(kube.Create(t.Context(), volume)); err != nil {
			t.Fatal(err)
		}
		if err := client.IgnoreAlreadyExists(kube.Create(t.Context(), claim)); err != nil {
			t.Fatal(err)
		}
	}
}
