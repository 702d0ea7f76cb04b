package state_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/pkg/job/state"
)

// A pod that its TrainingJob no longer takes for its own trains beside its successor.
func TestOwnerOf(t *testing.T) {
	ours := metav1.OwnerReference{APIVersion: "trainingjob.dev/v1alpha1", Kind: "TrainingJob", Name: "j", UID: "ours"}
	controlling := ours
	controlling.Controller = ptr.To(true)
	kubeflows := metav1.OwnerReference{APIVersion: "kubeflow.org/v1", Kind: "PyTorchJob", Name: "j", UID: "theirs", Controller: ptr.To(true)}
	other := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "j", UID: "set", Controller: ptr.To(true)}
	for name, c := range map[string]struct {
		refs []metav1.OwnerReference
		made string // the label training.kubeflow.org/operator-name
		want types.UID
	}{
		"no owner":                                   {nil, "pytorchjob-controller", ""},
		"a TrainingJob controls it":                  {[]metav1.OwnerReference{controlling}, "", "ours"},
		"a Kubeflow job controls it":                 {[]metav1.OwnerReference{kubeflows, ours}, "pytorchjob-controller", "ours"},
		"a Kubeflow job alone":                       {[]metav1.OwnerReference{kubeflows}, "pytorchjob-controller", ""},
		"the Kubeflow job was deleted without it":    {[]metav1.OwnerReference{ours}, "pytorchjob-controller", "ours"},
		"a user's object that is to go with the job": {[]metav1.OwnerReference{ours}, "", ""},
		"another object controls it":                 {[]metav1.OwnerReference{other, ours}, "pytorchjob-controller", ""},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "j-worker-0", OwnerReferences: c.refs, Labels: map[string]string{"training.kubeflow.org/operator-name": c.made}}}
		var got types.UID
		if ref := state.OwnerOf(pod); ref != nil {
			got = ref.UID
		}
		if got != c.want {
			t.Errorf("%s: owner %q, want %q", name, got, c.want)
		}
	}
}
