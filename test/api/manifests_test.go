//go:build e2e

package api_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	base           = "../../manifests/base"
	someNamespaces = "../../manifests/overlays/namespaces"
	admission      = "../../manifests/components/admission"
	confine        = "../../manifests/components/confine"
	kubeflowKinds  = "../../manifests/components/kubeflow-kinds"
	jobSet         = "../../manifests/components/jobset"
	ttl            = "../../manifests/components/ttl"
	nativeGang     = "../../manifests/components/native-gang"
	volcano        = "../../manifests/components/volcano"
	coscheduling   = "../../manifests/components/coscheduling"
	kueue          = "../../manifests/components/kueue"
	mpi            = "../../manifests/components/mpi"
	tenant         = "../../manifests/tenant"
)

// operatorName is the name of the operator's Deployment, service account and main role.
const operatorName = "trainingjob-operator"

// rendered returns the objects that kubectl apply -k folder would apply.
func rendered(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(kubectl(t, "kustomize", folder))), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := new(unstructured.Unstructured)
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("reading %s: %v", folder, err)
		}
		objects = append(objects, object)
	}
}

// find converts the one object of kind and name into the type that is wanted.
func find[T any](t *testing.T, objects []*unstructured.Unstructured, kind, name string) *T {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() != kind || object.GetName() != name {
			continue
		}
		found := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, found, true); err != nil {
			t.Fatalf("%s %s: %v", kind, name, err)
		}
		return found
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

func TestTheManifestsApplyWithStrictValidation(t *testing.T) {
	for name, folder := range map[string]string{
		"base": base, "some namespaces": someNamespaces, "admission": admission, "confine": confine, "kueue": kueue, "mpi": mpi,
		"ttl": ttl, "Kubeflow kinds": kubeflowKinds, "JobSets": jobSet, "native gangs": nativeGang, "Volcano": volcano, "coscheduling": coscheduling, "tenant": tenant,
	} {
		t.Run(name, func(t *testing.T) {
			if folder == kueue {
				since(t, mutatingPolicies, "the policy of Kueue's adapter")
			}
			// A dry run of an object needs its namespace to exist, whatever it is called.
			ns := namespace(t, nil)
			for _, object := range rendered(t, folder) {
				if object.GetNamespace() != "" || folder == tenant {
					object.SetNamespace(ns)
				}
				apply := client.ApplyConfigurationFromUnstructured(object)
				if err := admin.Apply(t.Context(), apply, client.DryRunAll, client.ForceOwnership); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
		})
	}
}

func TestThePodsPassTheRestrictedStandard(t *testing.T) {
	for name, folder := range map[string]string{operatorName: base, adapterName: kueue} {
		t.Run(name, func(t *testing.T) {
			ns := namespace(t, map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
			create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns}})
			deployment := find[appsv1.Deployment](t, rendered(t, folder), "Deployment", name)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns}, Spec: deployment.Spec.Template.Spec}
			if err := admin.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
				t.Errorf("the pod is refused: %v", err)
			}
			pod.Spec.Containers[0].SecurityContext = nil
			err := admin.Create(t.Context(), pod, client.DryRunAll)
			expectRefusal(t, err, "violates PodSecurity")
		})
	}
}

func TestTheNamespaceOfTheOperatorEnforcesTheRestrictedStandard(t *testing.T) {
	ns := find[corev1.Namespace](t, rendered(t, base), "Namespace", "trainingjob-system")
	if got := ns.Labels["pod-security.kubernetes.io/enforce"]; got != "restricted" {
		t.Errorf("the namespace enforces %q, want restricted", got)
	}
}

// A Deployment may be scaled to one replica, and drains and upgrades of nodes must still pass. So a budget allows one eviction of any number of pods.
func TestABudgetLetsADrainPassWithOneReplica(t *testing.T) {
	for folder, name := range map[string]string{base: operatorName, someNamespaces: operatorName, kueue: "trainingjob-kueue-adapter"} {
		budget := find[policyv1.PodDisruptionBudget](t, rendered(t, folder), "PodDisruptionBudget", name)
		if most := budget.Spec.MaxUnavailable; most == nil || most.IntValue() != 1 || budget.Spec.MinAvailable != nil {
			t.Errorf("%s: maxUnavailable %v, minAvailable %v, want 1 and none", folder, most, budget.Spec.MinAvailable)
		}
	}
}
