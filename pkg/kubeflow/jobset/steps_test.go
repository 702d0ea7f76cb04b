package jobset

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
)

// initialized is a JobSet as Trainer makes it with initializers: the model waits for the data here, and two nodes wait for both.
const initialized = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: t, namespace: ns, uid: u}
spec:
  managedBy: trainingjob.dev/operator
  successPolicy: {operator: All}
  failurePolicy: {maxRestarts: 3, rules: [{name: r, action: FailJobSet, targetReplicatedJobs: [model]}]}
  replicatedJobs:
  - {name: data, groupName: default, template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}
  - {name: model, groupName: default, dependsOn: [{name: data, status: Complete}], template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}
  - name: node
    groupName: default
    dependsOn: [{name: data, status: Complete}, {name: model, status: Complete}]
    template: {spec: {completions: 2, parallelism: 2, template: {spec: {containers: [{name: a, image: i}]}}}}
`

// children returns the names of the TrainingJobs.
func (c *cluster) children(t *testing.T) string {
	t.Helper()
	var list v1alpha1.TrainingJobList
	if err := c.Client.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		if !metav1.IsControlledBy(&list.Items[i], c.set) {
			t.Errorf("%s is not the JobSet's", list.Items[i].Name)
		}
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// end gives the TrainingJob a condition that is True.
func (c *cluster) end(t *testing.T, name, condition string) {
	t.Helper()
	child := &v1alpha1.TrainingJob{}
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, child); err != nil {
		t.Fatal(err)
	}
	child.Status.Conditions = []metav1.Condition{{Type: condition, Status: metav1.ConditionTrue, Reason: "x", Message: "why"}}
	if condition == v1alpha1.ConditionSucceeded {
		child.Status.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{v1alpha1.Worker: {Succeeded: *child.Spec.ReplicaSpecs[v1alpha1.Worker].Replicas}}
	}
	if err := c.Client.Status().Update(t.Context(), child); err != nil {
		t.Fatal(err)
	}
}

// JobSet starts a replicated job once those on which it depends with the status Complete have as many succeeded Jobs as replicas.
func TestAReplicatedJobBeginsAfterTheStepsBeforeIt(t *testing.T) {
	c := clusterOf(t, initialized)
	var set *JobSet
	for _, step := range []struct{ ends, want string }{
		{"", "t-data"}, {"t-data", "t-data t-model"}, {"t-model", "t t-data t-model"},
	} {
		if step.ends != "" {
			c.end(t, step.ends, v1alpha1.ConditionSucceeded)
		}
		set = c.pass(t)
		if got := c.children(t); got != step.want || set.IsFinished() {
			t.Fatalf("after %q there are %s, want %s; finished %t", step.ends, got, step.want, set.IsFinished())
		}
	}
	want := []ReplicatedJobStatus{{Name: "data", Succeeded: 1}, {Name: "model", Succeeded: 1}, {Name: "node"}}
	if diff := cmp.Diff(want, set.Status.ReplicatedJobsStatus); diff != "" {
		t.Error(diff)
	}
	c.end(t, "t", v1alpha1.ConditionSucceeded)
	if set = c.pass(t); !set.Status.is(completed) || set.Status.ReplicatedJobsStatus[2].Succeeded != 1 {
		t.Errorf("%s, %+v", set.Status.summary(), set.Status.ReplicatedJobsStatus)
	}
}

func TestAJobSetFailsWithItsStep(t *testing.T) {
	c := clusterOf(t, initialized)
	c.pass(t)
	c.end(t, "t-data", v1alpha1.ConditionFailed)
	set := c.pass(t)
	if want := "Failed FailJobSetFailurePolicyAction applying FailJobSet failure policy action: why"; set.Status.summary() != want {
		t.Errorf("%s, want %s", set.Status.summary(), want)
	}
	c.pass(t)
	if got := c.children(t); got != "t-data" {
		t.Errorf("there are %s, want t-data", got)
	}
}

// A step that a user deletes while the others train does not run beside them.
func TestAStepDoesNotBeginAfterTheOthers(t *testing.T) {
	c := clusterOf(t, initialized)
	c.pass(t)
	c.end(t, "t-data", v1alpha1.ConditionSucceeded)
	c.pass(t)
	c.end(t, "t-model", v1alpha1.ConditionSucceeded)
	c.pass(t)
	if err := c.Client.Delete(t.Context(), &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "t-data"}}); err != nil {
		t.Fatal(err)
	}
	c.pass(t)
	if got := c.children(t); got != "t t-model" {
		t.Errorf("there are %s, want t and t-model", got)
	}
}

// A refused JobSet runs no step, and a rule is for the part that has its replicated job.
func TestAStepIsAPartOfItsJobSet(t *testing.T) {
	c := clusterOf(t, changed(t, initialized, "completions: 2", "completions: 3"))
	if c.pass(t); c.children(t) != "" {
		t.Errorf("a refused JobSet has %s", c.children(t))
	}
	rules := ""
	for _, p := range read(t, initialized).parts() {
		s, err := p.Serve()
		if err != nil {
			t.Fatal(err)
		}
		for range s.Child.Spec.Recovery.Rules {
			rules += s.Child.Name
		}
		pod := build.Pod(s.Child, state.Slot{Role: v1alpha1.Worker}, state.Life{}, nil, nil)
		index, name := map[string]string{"t-data": "0", "t-model": "1", "t": "2"}[s.Child.Name], s.Roles[v1alpha1.Worker]
		if got := pod.Labels; got["jobset.sigs.k8s.io/job-global-index"] != index || got["jobset.sigs.k8s.io/global-replicas"] != "3" || got["jobset.sigs.k8s.io/replicatedjob-name"] != name {
			t.Errorf("%s: labels %v", s.Child.Name, got)
		}
		if !state.IsOwnedBy(pod, s.Child) {
			t.Errorf("%s does not own its pod", s.Child.Name)
		}
		if owner := pod.OwnerReferences[0]; owner.Kind != "JobSet" || owner.Name != "t" || pod.Spec.Hostname != "t-"+name+"-0-0" {
			t.Errorf("%s: host %s, owner %+v", s.Child.Name, pod.Spec.Hostname, owner)
		}
	}
	if rules != "t-model" {
		t.Errorf("rules of %q, want one of t-model", rules)
	}
}
