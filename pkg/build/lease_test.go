package build_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/build"
	"github.com/trainingjob/operator/test/builder"
)

// ownedBy is the owner reference of every child of the job j.
func ownedBy() []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: "trainingjob.dev/v1alpha1", Kind: "TrainingJob", Name: "j", UID: "uid-j", Controller: &yes, BlockOwnerDeletion: &yes}}
}

func TestTheProgressLease(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.Progress(60, v1alpha1.StallNotify))
	want := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "j-progress", Namespace: "team-a", OwnerReferences: ownedBy(),
		Labels: map[string]string{"trainingjob.dev/job-name": "j", "trainingjob.dev/job-uid": "uid-j", "training.kubeflow.org/job-name": "j"}}}
	if diff := cmp.Diff(want, build.ProgressLease(job)); diff != "" {
		t.Errorf("Lease (-want +got):\n%s", diff)
	}
}
