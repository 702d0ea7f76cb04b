package jobset

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// sharing is a JobSet whose initializer and nodes share a claim; another claim outlives it.
func sharing(t *testing.T) string {
	t.Helper()
	mounting := changed(t, initialized, "{name: data, groupName: default, template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}",
		"{name: data, groupName: default, template: {spec: {template: {spec: {containers: [{name: a, image: i, volumeMounts: [{name: work, mountPath: /w}]}]}}}}}")
	mounting = changed(t, mounting, "parallelism: 2, template: {spec: {containers: [{name: a, image: i}]}}",
		"parallelism: 2, template: {spec: {initContainers: [{name: b, image: i, volumeMounts: [{name: kept, mountPath: /k}]}], containers: [{name: a, image: i, volumeMounts: [{name: work, mountPath: /w}]}]}}")
	return mounting + `
  volumeClaimPolicies:
  - templates: [{metadata: {name: work, labels: {mine: a}, annotations: {b: c}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
  - templates: [{metadata: {name: kept}, spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 2Gi}}}}]
    retentionPolicy: {whenDeleted: Retain}
`
}

// claimsOf returns the claims of the namespace: who controls each, and its labels.
func (c *cluster) claimsOf(t *testing.T) map[string]string {
	t.Helper()
	var list corev1.PersistentVolumeClaimList
	if err := c.Client.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for i := range list.Items {
		claim := &list.Items[i]
		found[claim.Name] = claim.Labels["mine"] + " " + claim.Annotations["b"] + " " + claim.Labels["jobset.sigs.k8s.io/jobset-name"] + " "
		if owner := metav1.GetControllerOf(claim); owner != nil {
			found[claim.Name] += owner.Kind + "/" + owner.Name
		}
	}
	return found
}

// Source of the names, labels and owners: pkg/controllers/volume_claim_policy_test.go of JobSet 0.12.
func TestTheReplicatedJobsShareClaims(t *testing.T) {
	c := clusterOf(t, sharing(t))
	c.pass(t)
	want := map[string]string{"work-t": "a c t JobSet/t", "kept-t": "  t "}
	if diff := cmp.Diff(want, c.claimsOf(t)); diff != "" {
		t.Error("claims (-want +got):", diff)
	}
	mounted := map[string][]string{}
	for _, name := range []string{"t-data", "t-model", "t"} {
		c.pass(t)
		child := &v1alpha1.TrainingJob{}
		if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, child); err != nil {
			t.Fatal(err)
		}
		for _, volume := range child.Spec.ReplicaSpecs[v1alpha1.Worker].Template.Spec.Volumes {
			mounted[name] = append(mounted[name], volume.Name+" of "+volume.PersistentVolumeClaim.ClaimName)
		}
		if name != "t" {
			c.end(t, name, v1alpha1.ConditionSucceeded)
		}
	}
	if diff := cmp.Diff(map[string][]string{"t-data": {"work of work-t"}, "t": {"work of work-t", "kept of kept-t"}}, mounted); diff != "" {
		t.Error("volumes (-want +got):", diff)
	}
}

// A suspended JobSet may wait long, and Kueue may yet choose its nodes. Pods that run keep their claims from being deleted.
func TestClaimsAreCreatedWhileTheJobSetIsToStart(t *testing.T) {
	suspended := clusterOf(t, changed(t, sharing(t), "  successPolicy:", "  suspend: true\n  successPolicy:"))
	suspended.pass(t)
	if claims := suspended.claimsOf(t); len(claims) > 0 {
		t.Error("a suspended JobSet has claims:", claims)
	}
	c := clusterOf(t, pair("  volumeClaimPolicies: [{templates: [{metadata: {name: work}}]}]\n"))
	remake := func() bool {
		if err := c.Client.DeleteAllOf(t.Context(), &corev1.PersistentVolumeClaim{}, client.InNamespace("ns")); err != nil {
			t.Fatal(err)
		}
		c.pass(t)
		return len(c.claimsOf(t)) > 0
	}
	for range 2 {
		if !remake() {
			t.Error("a job that starts lacks its claim")
		}
	}
	c.update(t, metav1.Condition{Type: v1alpha1.ConditionRunning, Status: metav1.ConditionTrue, Reason: "x"})
	if remake() {
		t.Error("a job that runs has another claim")
	}
}

// Its pods would wait without a sentence for a claim that a quota or a policy refuses.
func TestARefusedClaimIsAnEvent(t *testing.T) {
	c := clusterOf(t, sharing(t))
	base, _ := c.Client.(client.WithWatch)
	c.Client = interceptor.NewClient(base, interceptor.Funcs{Create: func(ctx context.Context, kube client.WithWatch, o client.Object, options ...client.CreateOption) error {
		if _, isClaim := o.(*corev1.PersistentVolumeClaim); isClaim {
			return apierrors.NewForbidden(corev1.Resource("persistentvolumeclaims"), o.GetName(), errors.New("exceeded quota: q"))
		}
		return kube.Create(ctx, o, options...)
	}})
	_, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "t"}})
	if err == nil || c.children(t) != "" {
		t.Error("the JobSet began without its claim:", err, c.children(t))
	}
	select {
	case event := <-c.events.Events:
		if diff := cmp.Diff(`Warning QuotaExceeded creating PersistentVolumeClaim work-t of spec.volumeClaimPolicies: persistentvolumeclaims "work-t" is forbidden: exceeded quota: q`, event); diff != "" {
			t.Error(diff)
		}
	default:
		t.Error("no Event")
	}
}
