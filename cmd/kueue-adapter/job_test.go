package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// jobWith returns a job of the first generation that the operator has seen.
func jobWith(change func(*v1alpha1.TrainingJob)) *trainingJob {
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "j", Generation: 1}}
	job.Status.ObservedGeneration = 1
	if change != nil {
		change(job)
	}
	return (*trainingJob)(job)
}

func pods(role v1alpha1.Role, status v1alpha1.ReplicaStatus) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		j.Status.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{v1alpha1.Worker: {}, role: status}
	}
}

func TestQuotaIsHeldWhileThereMayBePods(t *testing.T) {
	cases := []struct {
		name   string
		change func(*v1alpha1.TrainingJob)
		want   bool
	}{
		{"none has been created", func(j *v1alpha1.TrainingJob) { j.Status = v1alpha1.TrainingJobStatus{} }, false},
		{"the operator has seen the present spec and no pod", nil, false},
		{"a pod is active", pods(v1alpha1.Worker, v1alpha1.ReplicaStatus{Active: 1}), true},
		{"a pod of another role is active", pods(v1alpha1.PS, v1alpha1.ReplicaStatus{Active: 1}), true},
		{"pods have ended", pods(v1alpha1.Worker, v1alpha1.ReplicaStatus{Succeeded: 1, Failed: 1}), false},
		{"the operator has not seen the suspension yet", func(j *v1alpha1.TrainingJob) { j.Generation = 2 }, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := jobWith(c.change).IsActive(); got != c.want {
				t.Errorf("active: %v, want %v", got, c.want)
			}
		})
	}
}

func conditions(types ...string) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		for _, kind := range types {
			j.Status.Conditions = append(j.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Message: kind + "."})
		}
	}
}

func TestAJobHasFinishedWhenItsLastPodHasEnded(t *testing.T) {
	type end struct {
		message           string
		success, finished bool
	}
	outlived := func(j *v1alpha1.TrainingJob) {
		conditions(v1alpha1.ConditionSucceeded, v1alpha1.ConditionFinished)(j)
		pods(v1alpha1.PS, v1alpha1.ReplicaStatus{Active: 1})(j)
	}
	cases := []struct {
		name   string
		change func(*v1alpha1.TrainingJob)
		want   end
	}{
		{"it runs", conditions(v1alpha1.ConditionRunning), end{}},
		{"it has succeeded", conditions(v1alpha1.ConditionSucceeded, v1alpha1.ConditionFinished), end{"Finished.", true, true}},
		{"it has failed", conditions(v1alpha1.ConditionFailed, v1alpha1.ConditionFinished), end{"Finished.", false, true}},
		{"a parameter server outlives its success", outlived, end{}},
		{"its end was denied", func(j *v1alpha1.TrainingJob) {
			j.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionFalse}}
		}, end{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got end
			got.message, got.success, got.finished = jobWith(c.change).Finished(t.Context())
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestPodsAreReadyWhenTheJobRuns(t *testing.T) {
	if jobWith(conditions(v1alpha1.ConditionScheduled)).PodsReady(t.Context(), nil) {
		t.Error("ready before it runs")
	}
	if !jobWith(conditions(v1alpha1.ConditionRunning)).PodsReady(t.Context(), nil) {
		t.Error("not ready when it runs")
	}
}

func TestAJobOfAnotherControllerIsSkipped(t *testing.T) {
	if jobWith(nil).Skip(t.Context()) {
		t.Error("the operator's own job is skipped")
	}
	if !jobWith(func(j *v1alpha1.TrainingJob) { j.Spec.ManagedBy = "example.com/other" }).Skip(t.Context()) {
		t.Error("another controller's job is not skipped")
	}
}

func TestThePriorityClassIsTheJobsOwnBeforeThatOfATemplate(t *testing.T) {
	roles := func(classes map[v1alpha1.Role]string) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			j.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
			for role, class := range classes {
				spec := v1alpha1.ReplicaSpec{}
				spec.Template.Spec.PriorityClassName = class
				j.Spec.ReplicaSpecs[role] = spec
			}
		}
	}
	cases := []struct {
		name    string
		own     string
		classes map[v1alpha1.Role]string
		want    string
	}{
		{"nobody says one", "", map[v1alpha1.Role]string{v1alpha1.Worker: ""}, ""},
		{"the job's own", "own", map[v1alpha1.Role]string{v1alpha1.Worker: "worker"}, "own"},
		{"that of the first role by rank", "", map[v1alpha1.Role]string{v1alpha1.PS: "ps", v1alpha1.Worker: "worker", v1alpha1.Chief: ""}, "worker"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			j := jobWith(roles(c.classes))
			j.Spec.Scheduling = &v1alpha1.Scheduling{PriorityClassName: c.own}
			if got := j.PriorityClass(); got != c.want {
				t.Errorf("class %q, want %q", got, c.want)
			}
		})
	}
}
