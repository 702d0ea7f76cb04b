package serve

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var start = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// read returns the job of a manifest.
func read(t *testing.T, manifest string) *Job {
	t.Helper()
	return parsed(t, manifest)
}

func parsed(t interface{ Fatal(args ...any) }, manifest string) *Job {
	source := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &source.Object); err != nil {
		t.Fatal(err)
	}
	parsed, err := ParseKinds([]string{source.GetKind()})
	if err != nil {
		t.Fatal(err)
	}
	job, err := Read(parsed[0], source)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

const pytorchJob = `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: j, namespace: ns, uid: u}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: i}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: i}]}}}
`

const tfJob = `
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: j, namespace: ns, uid: u}
spec:
  tfReplicaSpecs:
    PS: {replicas: 1, template: {spec: {containers: [{name: tensorflow, image: i}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: tensorflow, image: i}]}}}
`

// play mirrors one TrainingJob after the other, a second apart, and returns the last status.
func play(t *testing.T, job *Job, served *Served, steps ...func(*Job, *v1alpha1.TrainingJob)) Status {
	t.Helper()
	child := served.Child.DeepCopy()
	now := start
	for _, step := range steps {
		step(job, child)
		job.Status = job.Mirror(child, served.Roles, now)
		now = now.Add(time.Second)
	}
	return job.Status
}

// conditions returns a step in which the TrainingJob has these conditions.
func conditions(list ...metav1.Condition) func(*Job, *v1alpha1.TrainingJob) {
	return func(_ *Job, child *v1alpha1.TrainingJob) { child.Status.Conditions = list }
}

func is(kind, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Message: message}
}

func suspend(value bool) func(*Job, *v1alpha1.TrainingJob) {
	return func(job *Job, child *v1alpha1.TrainingJob) {
		job.Spec.RunPolicy.Suspend, child.Spec.Suspend = ptr.To(value), ptr.To(value)
		child.Status.Conditions = nil
	}
}

// shown returns the conditions without their times, as users and Kubeflow's own tests compare them.
func shown(status Status) []Condition {
	var list []Condition
	for _, c := range status.Conditions {
		c.LastTransitionTime, c.LastUpdateTime = metav1.Time{}, metav1.Time{}
		list = append(list, c)
	}
	return list
}

// The wanted conditions come from Training Operator 1.9.4: its own specs, and pkg/util/status.go.
func TestConditionsAreInTheOrderOfKubeflowsOperator(t *testing.T) {
	running, created := is(v1alpha1.ConditionRunning, ""), conditions()
	for name, c := range map[string]struct {
		manifest string
		steps    []func(*Job, *v1alpha1.TrainingJob)
		want     []Condition
	}{
		"a job runs": {pytorchJob, []func(*Job, *v1alpha1.TrainingJob){created, conditions(running)}, []Condition{
			{Type: "Created", Status: "True", Reason: "PyTorchJobCreated", Message: "PyTorchJob j is created."},
			{Type: "Running", Status: "True", Reason: "PyTorchJobRunning", Message: "PyTorchJob j is running."},
		}},
		"a TFJob names its namespace": {tfJob, []func(*Job, *v1alpha1.TrainingJob){created, conditions(running)}, []Condition{
			{Type: "Created", Status: "True", Reason: "TFJobCreated", Message: "TFJob j is created."},
			{Type: "Running", Status: "True", Reason: "TFJobRunning", Message: "TFJob ns/j is running."},
		}},
		"a running job is suspended": {pytorchJob, []func(*Job, *v1alpha1.TrainingJob){created, conditions(running), suspend(true)}, []Condition{
			{Type: "Created", Status: "True", Reason: "PyTorchJobCreated", Message: "PyTorchJob j is created."},
			{Type: "Running", Status: "False", Reason: "PyTorchJobSuspended", Message: "PyTorchJob j is suspended."},
			{Type: "Suspended", Status: "True", Reason: "PyTorchJobSuspended", Message: "PyTorchJob j is suspended."},
		}},
		"it resumes": {pytorchJob, []func(*Job, *v1alpha1.TrainingJob){created, conditions(running), suspend(true), suspend(false), conditions(running)}, []Condition{
			{Type: "Created", Status: "True", Reason: "PyTorchJobCreated", Message: "PyTorchJob j is created."},
			{Type: "Suspended", Status: "False", Reason: "PyTorchJobResumed", Message: "PyTorchJob j is resumed."},
			{Type: "Running", Status: "True", Reason: "PyTorchJobRunning", Message: "PyTorchJob j is running."},
		}},
		"it restarts": {pytorchJob, []func(*Job, *v1alpha1.TrainingJob){created, conditions(running), conditions(is(v1alpha1.ConditionRestarting, "worker-1 died."))}, []Condition{
			{Type: "Created", Status: "True", Reason: "PyTorchJobCreated", Message: "PyTorchJob j is created."},
			{Type: "Restarting", Status: "True", Reason: "PyTorchJobRestarting", Message: "PyTorchJob j is restarting. worker-1 died."},
		}},
		"it succeeds": {pytorchJob, []func(*Job, *v1alpha1.TrainingJob){created, conditions(running), conditions(is(v1alpha1.ConditionSucceeded, ""))}, []Condition{
			{Type: "Created", Status: "True", Reason: "PyTorchJobCreated", Message: "PyTorchJob j is created."},
			{Type: "Running", Status: "False", Reason: "PyTorchJobRunning", Message: "PyTorchJob j is running."},
			{Type: "Succeeded", Status: "True", Reason: "PyTorchJobSucceeded", Message: "PyTorchJob j is successfully completed."},
		}},
		"a failed job stays as it is": {tfJob, []func(*Job, *v1alpha1.TrainingJob){created, conditions(running), conditions(is(v1alpha1.ConditionFailed, "ps-0 exited with code 1.")), suspend(true)}, []Condition{
			{Type: "Created", Status: "True", Reason: "TFJobCreated", Message: "TFJob j is created."},
			{Type: "Running", Status: "False", Reason: "TFJobRunning", Message: "TFJob ns/j is running."},
			{Type: "Failed", Status: "True", Reason: "TFJobFailed", Message: "TFJob j is failed. ps-0 exited with code 1."},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			job := read(t, c.manifest)
			served, err := job.Serve()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, shown(play(t, job, served, c.steps...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Flyte takes the True condition with the latest transition, and arena the condition with the latest update.
func TestNoTwoTransitionsHaveTheSameSecond(t *testing.T) {
	job := read(t, pytorchJob)
	served, err := job.Serve()
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]metav1.Condition{nil, {is(v1alpha1.ConditionRunning, "")}, {is(v1alpha1.ConditionSucceeded, "")}} {
		child := served.Child.DeepCopy()
		child.Status.Conditions = list
		job.Status = job.Mirror(child, served.Roles, start) // all in one second
	}
	seen := map[string]bool{}
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && seen[c.LastTransitionTime.String()] {
			t.Errorf("%s has the time of another condition: %v", c.Type, c.LastTransitionTime)
		}
		seen[c.LastTransitionTime.String()] = true
		if !c.LastUpdateTime.Equal(&c.LastTransitionTime) {
			t.Errorf("%s was updated at %v, want the time of the transition, %v", c.Type, c.LastUpdateTime, c.LastTransitionTime)
		}
	}
	if len(seen) < 2 {
		t.Errorf("conditions %v", job.Status.Conditions)
	}
}

func TestTimesOfASuspension(t *testing.T) {
	job := read(t, pytorchJob)
	served, err := job.Serve()
	if err != nil {
		t.Fatal(err)
	}
	if never := play(t, read(t, pytorchJob), served, suspend(true)); never.StartTime != nil {
		t.Errorf("a job that never started has startTime %v", never.StartTime)
	}
	first := play(t, job, served, conditions()).StartTime
	if first == nil {
		t.Fatal("a job that starts has no startTime")
	}
	if kept := play(t, job, served, suspend(true)).StartTime; !kept.Equal(first) {
		t.Errorf("suspended: startTime %v, want %v", kept, first)
	}
	job.Spec.RunPolicy.Suspend = ptr.To(false)
	if again := job.Mirror(served.Child, served.Roles, start.Add(time.Minute)).StartTime; !again.Equal(ptr.To(metav1.NewTime(start.Add(time.Minute)))) {
		t.Errorf("resumed: startTime %v, want the time of the resumption", again)
	}
}

func TestReplicaStatusesHaveTheRolesOfTheSource(t *testing.T) {
	job := read(t, tfJob)
	served, err := job.Serve()
	if err != nil {
		t.Fatal(err)
	}
	got := play(t, job, served, func(_ *Job, child *v1alpha1.TrainingJob) {
		child.Status.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{v1alpha1.PS: {Active: 1}, v1alpha1.Worker: {Active: 1, Succeeded: 1}}
	}).ReplicaStatuses
	selector := "training.kubeflow.org/job-name=j,training.kubeflow.org/operator-name=tfjob-controller,training.kubeflow.org/replica-type="
	want := map[string]ReplicaStatus{"PS": {Active: 1, Selector: selector + "ps"}, "Worker": {Active: 1, Succeeded: 1, Selector: selector + "worker"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Workflows wait for these numbers, and read them late. The wanted ones come from pkg/controller.v1/common/job.go of Training Operator 1.9.4.
func TestReplicaStatusesAreSettledAtTheEndAndNeverChangeAgain(t *testing.T) {
	type counts = map[v1alpha1.Role]v1alpha1.ReplicaStatus
	for name, c := range map[string]struct {
		condition   string
		at          counts
		ps, workers ReplicaStatus
	}{
		"no end": {v1alpha1.ConditionRunning, counts{v1alpha1.PS: {Active: 1}, v1alpha1.Worker: {Active: 1, Succeeded: 1}},
			ReplicaStatus{Active: 1}, ReplicaStatus{Active: 1, Succeeded: 1}},
		"no end, and a failure that is mended": {v1alpha1.ConditionRestarting, counts{v1alpha1.PS: {Active: 1}, v1alpha1.Worker: {Active: 1, Failed: 1}},
			ReplicaStatus{Active: 1}, ReplicaStatus{Active: 1}},
		"success while others run": {v1alpha1.ConditionSucceeded, counts{v1alpha1.PS: {Active: 1}, v1alpha1.Worker: {Active: 1, Succeeded: 1}},
			ReplicaStatus{Succeeded: 1}, ReplicaStatus{Succeeded: 2}},
		"success of a replica whose pod still counts": {v1alpha1.ConditionSucceeded, counts{v1alpha1.PS: {Active: 1}, v1alpha1.Worker: {Active: 2, Succeeded: 2}},
			ReplicaStatus{Succeeded: 1}, ReplicaStatus{Succeeded: 2}},
		"success beside a failure": {v1alpha1.ConditionSucceeded, counts{v1alpha1.PS: {Active: 1}, v1alpha1.Worker: {Succeeded: 1, Failed: 1}},
			ReplicaStatus{Succeeded: 1}, ReplicaStatus{Succeeded: 1, Failed: 1}},
		"failure": {v1alpha1.ConditionFailed, counts{v1alpha1.PS: {Active: 1}, v1alpha1.Worker: {Active: 1, Failed: 1}},
			ReplicaStatus{}, ReplicaStatus{Failed: 1}},
	} {
		job := read(t, tfJob)
		served, err := job.Serve()
		if err != nil {
			t.Fatal(err)
		}
		end := func(_ *Job, child *v1alpha1.TrainingJob) {
			child.Status.ReplicaStatuses = c.at
			child.Status.Conditions = []metav1.Condition{is(c.condition, "")}
		}
		later := func(_ *Job, child *v1alpha1.TrainingJob) { // what the clean-up makes of the pods
			if c.condition == v1alpha1.ConditionSucceeded || c.condition == v1alpha1.ConditionFailed {
				child.Status.ReplicaStatuses = counts{v1alpha1.PS: {Failed: 1}, v1alpha1.Worker: {}}
			}
		}
		got := play(t, job, served, end, later).ReplicaStatuses
		for role, want := range map[string]ReplicaStatus{"PS": c.ps, "Worker": c.workers} {
			if want.Selector = got[role].Selector; got[role] != want {
				t.Errorf("%s: %s %+v, want %+v", name, role, got[role], want)
			}
		}
	}
}
