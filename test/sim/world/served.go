package world

import (
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
)

// Served returns the spec that the Kubeflow job requests which the TrainingJob serves; nil for a job of its own.
func (w *World) Served() *v1alpha1.TrainingJobSpec {
	if w.served == nil {
		return nil
	}
	return &w.served.Child.Spec
}

// editServed changes the Kubeflow job. Its controller applies the change to the TrainingJob at once.
func (w *World) editServed(change func(*v1alpha1.TrainingJobSpec)) {
	job := w.Job()
	if job == nil || job.DeletionTimestamp != nil {
		return
	}
	before := w.served.Child.Spec.DeepCopy()
	change(w.Served())
	w.say("user: the Kubeflow job requests suspend %t, workers %d", w.Served().IsSuspended(), w.Served().Replicas(v1alpha1.Worker))
	w.correct(User, mergePatch(before, w.Served()))
}

// takeBack has the controller of the Kubeflow job take back what a user has changed in the TrainingJob alone.
func (w *World) takeBack() {
	job := w.Job()
	if w.served == nil || job == nil || job.DeletionTimestamp != nil || meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.ConditionFinished) {
		return
	}
	patch, err := w.served.Correction(job)
	if err != nil {
		panic(err)
	}
	if patch != nil {
		w.say("kubeflow: corrects the job: %s", patch)
		w.correct(Kubeflow, patch)
	}
	w.Looks++
}

func (w *World) correct(user string, patch []byte) {
	w.must(&server.Request{User: user, Verb: server.Patch, Kind: server.Jobs, Key: w.Key, Patch: patch})
}

// mergePatch returns the patch of an object that changes its spec in the same way.
func mergePatch(before, after *v1alpha1.TrainingJobSpec) []byte {
	was, err := json.Marshal(map[string]any{"spec": before})
	if err != nil {
		panic(err)
	}
	is, err := json.Marshal(map[string]any{"spec": after})
	if err != nil {
		panic(err)
	}
	patch, err := jsonpatch.CreateMergePatch(was, is)
	if err != nil {
		panic(err)
	}
	return patch
}
