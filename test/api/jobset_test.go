//go:build e2e

package api_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/others/kubeflow"
)

var jobSetKind = schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}

// withJobSets installs JobSet's CRD where the cluster has none.
func withJobSets(t *testing.T) {
	t.Helper()
	installKinds(t, kubeflow.JobSet, "config/components/crd/bases/*.yaml", jobSetKind)
}

// newJobSet returns a JobSet of another controller, changed by a merge patch in YAML.
func newJobSet(t *testing.T, namespace, change string) *unstructured.Unstructured {
	t.Helper()
	object := parse(t, `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: good}, spec: {managedBy: `+nobody+
		`, replicatedJobs: [{name: w, template: {spec: {template: {spec: {containers: [{name: a, image: busybox}]}}}}}]}}`)
	merge(object, parse(t, change))
	set := &unstructured.Unstructured{Object: object}
	set.SetNamespace(namespace)
	return set
}

// A JobSet that names the operator makes the pods that its creator may make. One of another controller, and the JobSet of a TrainJob, is for that one.
func TestThePolicyAsksForTheSameRightsForJobSets(t *testing.T) {
	const user, trainer = "grace", "system:serviceaccount:kubeflow-system:kubeflow-trainer-controller-manager"
	const ours = `spec: {managedBy: trainingjob.dev/operator}`
	withJobSets(t)
	ns := policed(t)
	try := func(by, change string) func() error {
		c, err := connectAs(by)
		if err != nil {
			t.Fatal(err)
		}
		return func() error { return c.Create(t.Context(), newJobSet(t, ns, change), client.DryRunAll) }
	}
	mayCreate := rbacv1.PolicyRule{APIGroups: []string{"jobset.x-k8s.io"}, Resources: []string{"*"}, Verbs: []string{"create", "update", "get"}}
	allow(t, ns, user, "jobs", mayCreate)
	allow(t, ns, trainer, "trainer", mayCreate)
	eventually(t, "a JobSet for the operator", try(user, ours), user+" may not create pods in namespace "+ns+", so neither a JobSet")
	expectRefusal(t, try(user, `{}`)(), "")
	eventually(t, "a JobSet of Trainer", try(trainer, ours), "")
	theirs := newJobSet(t, ns, `{metadata: {name: theirs}, spec: {suspend: true}}`)
	create(t, theirs)
	grace, err := connectAs(user)
	if err != nil {
		t.Fatal(err)
	}
	update := func(change string) error {
		changed := theirs.DeepCopy()
		merge(changed.Object, parse(t, change))
		return grace.Update(t.Context(), changed, client.DryRunAll)
	}
	expectRefusal(t, update(`metadata: {labels: {a: b}}`), "")
	expectRefusal(t, update(ours), "may not create pods") // also where no webhook keeps managedBy
	expectRefusal(t, try(user, ours+"\nmetadata: {ownerReferences: [{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: good, uid: u, controller: true}]}")(), "may not create pods")
	allow(t, ns, user, "pods", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}})
	eventually(t, "a JobSet whose pods the user may create", try(user, ours), "")
	second := func(pod string) string {
		return `spec: {managedBy: trainingjob.dev/operator, replicatedJobs: [{name: a, template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}},
			{name: b, template: {spec: {template: {spec: {` + pod + `, containers: [{name: a, image: i}]}}}}}]}`
	}
	claims := ours[:len(ours)-1] + `, volumeClaimPolicies: [{templates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}]}`
	expectRefusal(t, try(user, claims)(), user+" may not create claims in namespace "+ns)
	allow(t, ns, user, "claims", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims"}, Verbs: []string{"create"}})
	eventually(t, "a JobSet whose claims the user may create", try(user, claims), "")
	expectRefusal(t, try(user, second("serviceAccountName: robot"))(), user+" may not use service account robot")
	expectRefusal(t, try(user, second("priorityClassName: high"))(), user+" may not use priority class high")
}

func TestAStolenTokenReachesOfJobSetsOnlyWhatTheOperatorChanges(t *testing.T) {
	withJobSets(t)
	s := steal(t)
	set := newJobSet(t, s.tenant, `metadata: {name: served}`)
	create(t, set)
	child := typed(t, job(t, s.tenant, `{}`))
	child.Name, child.OwnerReferences = "served", []metav1.OwnerReference{*metav1.NewControllerRef(set, jobSetKind)}
	create(t, child)
	expiring := newJobSet(t, s.tenant, `{metadata: {name: late}, spec: {ttlSecondsAfterFinished: 60}}`)
	create(t, expiring)
	ended := client.RawPatch("application/merge-patch+json", []byte(`{"status": {"restarts": 0, "conditions": [{"type": "Completed", "status": "True", "reason": "AllJobsCompleted", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`))
	if err := admin.Status().Patch(t.Context(), expiring, ended); err != nil {
		t.Fatal(err)
	}
	owned := func(name string, owners ...metav1.OwnerReference) *corev1.Pod {
		pod := s.pod(name, nil)
		pod.ObjectMeta = metav1.ObjectMeta{Namespace: s.tenant, Name: name, OwnerReferences: owners}
		return pod
	}
	bySet, byChild := *metav1.NewControllerRef(set, jobSetKind), *metav1.NewControllerRef(child, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	byChild.Controller = nil
	forged := bySet
	forged.Name = "other"
	service := func(name string, change func(*corev1.ServiceSpec)) *corev1.Service {
		made := &corev1.Service{ObjectMeta: owned(name, bySet, byChild).ObjectMeta, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"a": "b"}, Ports: []corev1.ServicePort{{Port: 80}}}}
		change(&made.Spec)
		return made
	}
	part, byPart := child.DeepCopy(), byChild
	part.Name, part.ResourceVersion, part.UID, byPart.Name = "served-step", "", "", "served-step"
	claim := func(name, set string, owners ...metav1.OwnerReference) *corev1.PersistentVolumeClaim {
		made := &corev1.PersistentVolumeClaim{ObjectMeta: owned(name, owners...).ObjectMeta, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}
		made.Labels = map[string]string{"jobset.sigs.k8s.io/jobset-name": set}
		return made
	}
	kept := claim("kept-served", "served")
	create(t, kept.DeepCopy())
	misnamed, byMisnamed := part.DeepCopy(), byPart
	misnamed.Name, byMisnamed.Name = "servedstep", "servedstep"
	const onlyClaims = "only the claims of a JobSet"
	const nothing, onlyExpired = "changes nothing of a Kubeflow job but its status", "deletes only a Kubeflow job that has ended and has"
	s.try(t, []attempt{
		s.creates(t, "a pod", owned("served-worker-0", bySet, byChild), ""),
		s.creates(t, "a pod of the JobSet alone", owned("served-worker-0", bySet), notOfAJob),
		s.creates(t, "a pod of another JobSet", owned("served-worker-0", forged, byChild), notOfAJob),
		s.creates(t, "a pod of another name", owned("other-worker-0", bySet, byChild), "named after their TrainingJob"),
		s.creates(t, "the TrainingJob of a step", part, ""),
		s.creates(t, "a TrainingJob of another name", misnamed, "changes nothing of a TrainingJob but its status"),
		s.creates(t, "a pod of a step", owned("served-step-worker-0", bySet, byPart), ""),
		s.creates(t, "a pod of a step of another name", owned("servedstep-worker-0", bySet, byMisnamed), notOfAJob),
		s.creates(t, "a pod of another JobSet's step", owned("served-step-worker-0", forged, byPart), notOfAJob),
		s.creates(t, "the Service of its subdomain", service("sub", same[*corev1.ServiceSpec]), ""),
		s.creates(t, "a Service with an external address", service("sub", func(spec *corev1.ServiceSpec) { spec.ExternalIPs = []string{"192.0.2.1"} }), "only headless Services"),
		s.creates(t, "a Service with an address", service("sub", func(spec *corev1.ServiceSpec) { spec.ClusterIP = "" }), "only headless Services"),
		s.creates(t, "a claim", claim("data-served", "served", bySet), ""),
		s.creates(t, "a claim that outlives the JobSet", claim("data-served", "served"), ""),
		s.creates(t, "a claim of no JobSet", claim("data", ""), onlyClaims),
		s.creates(t, "a claim of another name", claim("data-other", "served"), onlyClaims),
		s.creates(t, "a claim that another JobSet controls", claim("data-served", "served", forged), onlyClaims),
		s.creates(t, "a claim that a TrainingJob owns", claim("data-served", "served", byChild), onlyClaims),
		s.deletes(t, "a claim", kept, "only creates claims"),
		s.merges(t, "a label of a claim", kept, `{"metadata": {"labels": {"a": "b"}}}`, "only creates claims"),
		s.creates(t, "a JobSet", newJobSet(t, s.tenant, `metadata: {name: another}`), nothing),
		s.merges(t, "a spec", set, `{"spec": {"suspend": true}}`, nothing),
		s.merges(t, "a label", set, `{"metadata": {"labels": {"a": "b"}}}`, nothing),
		{"a status", func() error {
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"status": {"restarts": 1}}`))
			return s.Status().Patch(t.Context(), set.DeepCopy(), patch, client.DryRunAll)
		}, ""},
		s.deletes(t, "a JobSet that runs", set, onlyExpired),
		s.deletes(t, "a JobSet that has ended and has a time to live", expiring, ""),
		s.merges(t, "the spec of the TrainingJob that serves", child, `{"spec": {"suspend": true}}`, ""),
		s.merges(t, "the owners of the TrainingJob that serves", child, `{"metadata": {"ownerReferences": null}}`, "neither owners nor finalizers"),
		s.deletes(t, "the TrainingJob that serves", child, ""),
	})
}
