//go:build e2e

package api_test

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// kubeflowThief is a thief with a PyTorchJob and the TrainingJob that serves it.
type kubeflowThief struct {
	*thief
	pytorch *unstructured.Unstructured
	child   *v1alpha1.TrainingJob
}

func stealKubeflow(t *testing.T) *kubeflowThief {
	t.Helper()
	withKubeflowKinds(t)
	s := &kubeflowThief{thief: steal(t)}
	s.pytorch = s.job(t, "served", `spec: {runPolicy: {managedBy: kueue.x-k8s.io/multikueue}}`)
	s.child = s.serving(t, "served")
	create(t, s.child)
	return s
}

// job creates a PyTorchJob.
func (s *kubeflowThief) job(t *testing.T, name, change string) *unstructured.Unstructured {
	t.Helper()
	job := kubeflowJob(t, s.tenant, "PyTorchJob", change)
	job.SetName(name)
	create(t, job)
	return job
}

// serving returns a TrainingJob of that name that the PyTorchJob controls.
func (s *kubeflowThief) serving(t *testing.T, name string) *v1alpha1.TrainingJob {
	t.Helper()
	child := typed(t, job(t, s.tenant, `{}`))
	child.Name, child.OwnerReferences = name, []metav1.OwnerReference{*metav1.NewControllerRef(s.pytorch, s.pytorch.GroupVersionKind())}
	return child
}

// owned returns metadata of an object that the PyTorchJob controls and the TrainingJob owns.
func (s *kubeflowThief) owned(name string) metav1.ObjectMeta {
	plain := *metav1.NewControllerRef(s.child, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	plain.Controller = nil
	return metav1.ObjectMeta{
		Namespace: s.tenant, Name: name,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.pytorch, s.pytorch.GroupVersionKind()), plain},
	}
}

func (s *kubeflowThief) servedPod(name string, change func(*metav1.ObjectMeta)) *corev1.Pod {
	pod := s.pod(name, nil)
	pod.ObjectMeta = s.owned(name)
	change(&pod.ObjectMeta)
	return pod
}

func (s *kubeflowThief) servedService(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: s.owned(name), Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"a": "b"}}}
}

// scaler returns the autoscaler of the PyTorchJob, changed.
func (s *kubeflowThief) scaler(change func(*autoscalingv2.HorizontalPodAutoscaler)) *autoscalingv2.HorizontalPodAutoscaler {
	scaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.tenant, Name: "served", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.pytorch, s.pytorch.GroupVersionKind())},
		},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "kubeflow.org/v1", Kind: "PyTorchJob", Name: "served"}, MaxReplicas: 3,
		},
	}
	change(scaler)
	return scaler
}

func same[T any](T) {}

func TestAStolenTokenMakesOnlyTheChildrenOfServedJobs(t *testing.T) {
	s := stealKubeflow(t)
	replica := s.servedService("served-worker-0")
	create(t, replica)
	own := s.servedService("served")
	create(t, own)
	alone := func(m *metav1.ObjectMeta) { m.OwnerReferences = m.OwnerReferences[:1] }
	inherited, other, former := s.servedPod("served-worker-7", alone), s.servedPod("other-worker-7", alone), s.servedService("served-worker-7")
	alone(&former.ObjectMeta)
	for _, object := range []client.Object{inherited, other, former} {
		create(t, object)
	}
	s.try(t, []attempt{
		s.creates(t, "a pod", s.servedPod("served-worker-0", same), ""),
		s.creates(t, "a pod of the PyTorchJob alone", s.servedPod("served-worker-0", func(m *metav1.ObjectMeta) { m.OwnerReferences = m.OwnerReferences[:1] }), notOfAJob),
		s.creates(t, "a pod of another PyTorchJob", s.servedPod("served-worker-0", func(m *metav1.ObjectMeta) { m.OwnerReferences[0].Name = "other" }), notOfAJob),
		s.creates(t, "a pod of another controller", s.servedPod("served-worker-0", func(m *metav1.ObjectMeta) { m.OwnerReferences[0].APIVersion = "batch/v1" }), notOfAJob),
		s.creates(t, "a pod of another name", s.servedPod("other-worker-0", same), "named after their TrainingJob"),
		s.creates(t, "a Service of a replica", s.servedService("served-worker-1"), ""),
		s.creates(t, "a Service of another name", s.servedService("other"), "named after their TrainingJob"),
		s.deletes(t, "the Service of a replica", replica, ""),
		s.deletes(t, "the Service of the job", own, "the operator only creates services"),
		s.deletes(t, "a pod of the PyTorchJob alone", inherited, ""),
		s.deletes(t, "a Service of the PyTorchJob alone", former, ""),
		s.deletes(t, "a pod of another name of the PyTorchJob alone", other, notOfAJob),
		s.creates(t, "the autoscaler", s.scaler(same), ""),
		s.creates(t, "an autoscaler of another object", s.scaler(func(a *autoscalingv2.HorizontalPodAutoscaler) { a.Spec.ScaleTargetRef.Name = "other" }), onlyItsScaler),
		s.creates(t, "an autoscaler without owner", s.scaler(func(a *autoscalingv2.HorizontalPodAutoscaler) { a.OwnerReferences = nil }), onlyItsScaler),
		s.creates(t, "an autoscaler in kube-system", in("kube-system", s.scaler(same)), "writes nothing in namespace kube-system"),
	})
}

const onlyItsScaler = "only creates and deletes the autoscaler of a Kubeflow job"

func TestAStolenTokenChangesOfServedJobsOnlyWhatTheOperatorChanges(t *testing.T) {
	s := stealKubeflow(t)
	const nothing, onlyExpired = "changes nothing of a Kubeflow job but its status", "deletes only a Kubeflow job that has ended and has"
	finished := s.job(t, "over", `spec: {runPolicy: {managedBy: kueue.x-k8s.io/multikueue}}`)
	expiring := s.job(t, "late", `spec: {runPolicy: {managedBy: kueue.x-k8s.io/multikueue, ttlSecondsAfterFinished: 60}}`)
	for _, job := range []*unstructured.Unstructured{finished, expiring} {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}`))
		if err := admin.Status().Patch(t.Context(), job, patch); err != nil {
			t.Fatal(err)
		}
	}
	s.try(t, []attempt{
		{"a status", func() error {
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"status": {"startTime": "2026-01-01T00:00:00Z"}}`))
			return s.Status().Patch(t.Context(), s.pytorch.DeepCopy(), patch, client.DryRunAll)
		}, ""},
		s.merges(t, "a spec", s.pytorch, `{"spec": {"runPolicy": {"suspend": true}}}`, nothing),
		s.merges(t, "a label", s.pytorch, `{"metadata": {"labels": {"a": "b"}}}`, nothing),
		s.creates(t, "a PyTorchJob", kubeflowJob(t, s.tenant, "PyTorchJob", `metadata: {name: another}`), nothing),
		s.deletes(t, "a job that runs", s.pytorch, onlyExpired),
		s.deletes(t, "a job that has ended", finished, onlyExpired),
		s.deletes(t, "a job that has ended and has a time to live", expiring, ""),
		s.merges(t, "the spec of the TrainingJob that serves", s.child, `{"spec": {"suspend": true}}`, ""),
		s.deletes(t, "the TrainingJob that serves", s.child, ""),
		s.merges(t, "the owners of the TrainingJob that serves", s.child, `{"metadata": {"ownerReferences": null}}`, "neither owners nor finalizers"),
		s.merges(t, "the spec of another TrainingJob", s.running, `{"spec": {"suspend": true}}`, "changes nothing of a TrainingJob but its status"),
		s.creates(t, "a TrainingJob that serves none", in(s.tenant, typed(t, job(t, s.tenant, `{}`))), "unless the TrainingJob serves a Kubeflow job"),
		s.creates(t, "a TrainingJob of another name", s.serving(t, "other"), "unless the TrainingJob serves a Kubeflow job"),
		{"a TrainingJob of the same name", func() error {
			err := s.Create(t.Context(), s.serving(t, "served"), client.DryRunAll)
			if apierrors.IsAlreadyExists(err) { // so admission let it pass
				return nil
			}
			return err
		}, ""},
		{"all PyTorchJobs", func() error {
			jobs := &unstructured.Unstructured{}
			jobs.SetGroupVersionKind(s.pytorch.GroupVersionKind())
			return s.DeleteAllOf(t.Context(), jobs, client.InNamespace(s.tenant), client.DryRunAll)
		}, onlyExpired},
	})
}
