package jobset

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/kubeflow/serve"
)

var start = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// trained is the JobSet that Trainer 2.3 makes of a TrainJob t of two nodes by a runtime with spec.managedBy, with JobSet's defaults.
const trained = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: t, namespace: ns, uid: u}
spec:
  managedBy: trainingjob.dev/operator
  network: {enableDNSHostnames: true, publishNotReadyAddresses: true}
  startupPolicy: {startupPolicyOrder: AnyOrder}
  successPolicy: {operator: All}
  suspend: false
  replicatedJobs:
  - name: node
    groupName: default
    replicas: 1
    template:
      spec:
        completionMode: Indexed
        completions: 2
        parallelism: 2
        template:
          metadata: {labels: {mine: own}}
          spec:
            restartPolicy: OnFailure
            containers:
            - name: node
              image: i
              env: [{name: PET_NODE_RANK, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}}]
`

// pair is a JobSet of a launcher with one pod and of workers with two, whose spec goes on with the given fields.
func pair(fields string) string {
	return `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: t, namespace: ns, uid: u, annotations: {}}
spec:
  managedBy: trainingjob.dev/operator
  replicatedJobs:
  - {name: launcher, groupName: default, template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}
  - {name: the-workers, groupName: default, template: {spec: {completions: 2, parallelism: 2, template: {spec: {containers: [{name: a, image: i}]}}}}}
` + fields
}

// changed returns the manifest with a text replaced, which it must have.
func changed(t *testing.T, manifest, from, to string) string {
	t.Helper()
	if !strings.Contains(manifest, from) {
		t.Fatalf("the manifest has no %q", from)
	}
	return strings.Replace(manifest, from, to, 1)
}

func read(t *testing.T, manifest string) *JobSet {
	t.Helper()
	source := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &source.Object); err != nil {
		t.Fatal(err)
	}
	set, err := Read(source)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func served(t *testing.T, set *JobSet) *serve.Served {
	t.Helper()
	s, err := set.Serve()
	if err != nil || s.Refused != nil {
		t.Fatal(err, s)
	}
	s.Child.UID = "child"
	return s
}

// The second pod of the same JobSet, as JobSet 0.12 and Kubernetes 1.37 made it: names, labels and annotations without the UID of its Job.
func TestAPodHasTheNamesOfAPodOfAJobSet(t *testing.T) {
	set := read(t, strings.Replace(trained, "  suspend: false", "  coordinator: {replicatedJob: node}\n  suspend: false", 1))
	child := served(t, set).Child
	pod := build.Pod(child, state.Slot{Role: v1alpha1.Worker, Index: 1}, state.Life{Attempt: 3}, nil, nil)
	both := map[string]string{
		"jobset.sigs.k8s.io/jobset-name":            "t",
		"jobset.sigs.k8s.io/jobset-uid":             "u",
		"jobset.sigs.k8s.io/replicatedjob-name":     "node",
		"jobset.sigs.k8s.io/replicatedjob-replicas": "1",
		"jobset.sigs.k8s.io/global-replicas":        "1",
		"jobset.sigs.k8s.io/job-index":              "0",
		"jobset.sigs.k8s.io/job-key":                "4ffeb8d68e32d60b12a1066703445f9aa14cf979",
		"jobset.sigs.k8s.io/job-global-index":       "0",
		"jobset.sigs.k8s.io/group-name":             "default",
		"jobset.sigs.k8s.io/group-replicas":         "1",
		"jobset.sigs.k8s.io/job-group-index":        "0",
		"jobset.sigs.k8s.io/coordinator":            "t-node-0-0.t",
		"jobset.sigs.k8s.io/restart-attempt":        "3",
		"batch.kubernetes.io/job-completion-index":  "1",
	}
	for name, want := range both {
		if pod.Labels[name] != want || pod.Annotations[name] != want {
			t.Errorf("%s is %q as a label and %q as an annotation, want %q", name, pod.Labels[name], pod.Annotations[name], want)
		}
	}
	for name, want := range map[string]string{"batch.kubernetes.io/job-name": "t-node-0", "job-name": "t-node-0", "mine": "own"} {
		if pod.Labels[name] != want {
			t.Errorf("label %s is %q, want %q", name, pod.Labels[name], want)
		}
	}
	if pod.Spec.Hostname != "t-node-0-1" || pod.Spec.Subdomain != "t" {
		t.Errorf("host %s.%s, want t-node-0-1.t", pod.Spec.Hostname, pod.Spec.Subdomain)
	}
	if owner := pod.OwnerReferences[0]; owner.Kind != "JobSet" || owner.UID != "u" || !*owner.Controller {
		t.Errorf("the first owner is %+v, want the JobSet as the controller", owner)
	}
	if !state.IsOwnedBy(pod, child) {
		t.Error("the pod is not its TrainingJob's")
	}
	want := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']"}}
	variables := map[string]corev1.EnvVar{}
	for _, v := range pod.Spec.Containers[0].Env {
		variables[v.Name] = v
	}
	if diff := cmp.Diff(want, variables["JOB_COMPLETION_INDEX"].ValueFrom); diff != "" {
		t.Error(diff)
	}
	if got := variables["TRAININGJOB_LEADER_ADDRESS"].Value; got != "t-node-0-0.t" {
		t.Errorf("the leader is at %q, want a name that resolves", got)
	}
}

// The last pod of three Jobs of two pods, beside a launcher. Each name is by the documentation of JobSet's labels; the key is sha1sum of ns/t-the-workers-2.
func TestAPodOfSeveralJobsHasTheNamesOfItsOwn(t *testing.T) {
	set := read(t, strings.Replace(pair(""), "name: the-workers,", "name: the-workers, replicas: 3,", 1))
	child := served(t, set).Child
	if got := *child.Spec.ReplicaSpecs[v1alpha1.Worker].Replicas; got != 6 {
		t.Fatalf("%d workers, want 6", got)
	}
	pod := build.Pod(child, state.Slot{Role: v1alpha1.Worker, Index: 5}, state.Life{}, nil, nil)
	for name, want := range map[string]string{
		"jobset.sigs.k8s.io/replicatedjob-replicas": "3",
		"jobset.sigs.k8s.io/global-replicas":        "4",
		"jobset.sigs.k8s.io/group-replicas":         "4",
		"jobset.sigs.k8s.io/job-index":              "2",
		"jobset.sigs.k8s.io/job-global-index":       "3",
		"jobset.sigs.k8s.io/job-group-index":        "3",
		"jobset.sigs.k8s.io/job-key":                "c8a8604ebcd1c81c6dba72f52d458ad64969f121",
		"batch.kubernetes.io/job-completion-index":  "1",
	} {
		if pod.Labels[name] != want || pod.Annotations[name] != want {
			t.Errorf("%s is %q as a label and %q as an annotation, want %q", name, pod.Labels[name], pod.Annotations[name], want)
		}
	}
	if pod.Spec.Hostname != "t-the-workers-2-1" || pod.Labels["job-name"] != "t-the-workers-2" || pod.Labels["batch.kubernetes.io/job-name"] != "t-the-workers-2" {
		t.Errorf("host %s, labels %v, want t-the-workers-2-1 of Job t-the-workers-2", pod.Spec.Hostname, pod.Labels)
	}
}

// Any other job keeps its host names, also with such an annotation.
func TestAnIndexRenamesNoOtherPod(t *testing.T) {
	child := served(t, read(t, trained)).Child
	child.OwnerReferences = nil
	pod := build.Pod(child, state.Slot{Role: v1alpha1.Worker}, state.Life{}, nil, nil)
	if pod.Spec.Hostname != "t-worker-0" || pod.Spec.Subdomain != "t" {
		t.Errorf("host %s.%s, want t-worker-0.t", pod.Spec.Hostname, pod.Spec.Subdomain)
	}
}

func TestASubdomainOfItsOwnIsThePods(t *testing.T) {
	child := served(t, read(t, changed(t, trained, "network: {", "network: {subdomain: sub, "))).Child
	if pod := build.Pod(child, state.Slot{Role: v1alpha1.Worker}, state.Life{}, nil, nil); pod.Spec.Subdomain != "sub" {
		t.Errorf("subdomain %q, want sub", pod.Spec.Subdomain)
	}
}

func TestReplicatedJobsHaveRoles(t *testing.T) {
	three := pair("") + "  - {name: worker, template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}\n"
	for name, c := range map[string]struct {
		manifest string
		roles    map[v1alpha1.Role]string
		policy   v1alpha1.SuccessPolicy
	}{
		"one": {trained, map[v1alpha1.Role]string{"Worker": "node"}, v1alpha1.SuccessAllWorkers},
		"two, both awaited": {
			pair("  successPolicy: {operator: All}\n"), map[v1alpha1.Role]string{"Master": "launcher", "Worker": "the-workers"}, v1alpha1.SuccessAllWorkers,
		},
		"only the launcher is awaited, as in Trainer's MPI runtimes": {
			pair("  successPolicy: {operator: All, targetReplicatedJobs: [launcher]}\n"),
			map[v1alpha1.Role]string{"Master": "launcher", "Worker": "the-workers"}, v1alpha1.SuccessLeader,
		},
		"only the workers are awaited": {
			pair("  successPolicy: {operator: All, targetReplicatedJobs: [the-workers]}\n"),
			map[v1alpha1.Role]string{"job0": "launcher", "Worker": "the-workers"}, v1alpha1.SuccessAllWorkers,
		},
		"any of several Jobs with one pod each": {
			pair("  - {name: c, replicas: 3, template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}\n  successPolicy: {operator: Any, targetReplicatedJobs: [c]}\n"),
			map[v1alpha1.Role]string{"job0": "launcher", "theworkers": "the-workers", "Worker": "c"}, v1alpha1.SuccessAnyWorker,
		},
		"three, and the first of two to end": {
			three + "  successPolicy: {operator: Any, targetReplicatedJobs: [launcher, worker]}\n",
			map[v1alpha1.Role]string{"Master": "launcher", "Worker": "worker", "theworkers": "the-workers"}, v1alpha1.SuccessAnyWorker,
		},
	} {
		s := served(t, read(t, c.manifest))
		if diff := cmp.Diff(c.roles, s.Roles); diff != "" || s.Child.Spec.SuccessPolicy != c.policy {
			t.Errorf("%s: policy %s, want %s; roles %s", name, s.Child.Spec.SuccessPolicy, c.policy, diff)
		}
	}
}

func TestWhatCannotBeKeptIsRefusedWithASentence(t *testing.T) {
	for name, c := range map[string]struct{ manifest, want string }{
		"any of Jobs of two": {changed(t, changed(t, trained, "replicas: 1", "replicas: 2"), "operator: All", "operator: Any"), "with operator Any, one pod for each Job"},
		"one of Jobs of two": {changed(t, changed(t, trained, "replicas: 1", "replicas: 2"), "  suspend: false", "  failurePolicy: {maxRestarts: 1, rules: [{name: r, action: RestartJob}]}\n  suspend: false"),
			"spec.failurePolicy.rules[0] (r): action RestartJob cannot be kept where replicas and parallelism are both above 1"},
		"seventeen replicated jobs": {pair("") + strings.Repeat("  - {name: x, template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}\n", 15), "spec.replicatedJobs has 17: write at most 16"},
		"no Jobs":                   {changed(t, trained, "replicas: 1", "replicas: 0"), "replicas times parallelism must be 1 to 10000 pods"},
		"Jobs without end":          {changed(t, trained, "replicas: 1", "replicas: 2147483647"), "replicas times parallelism must be 1 to 10000 pods"},
		"a queue of work":           {changed(t, trained, "completions: 2", "completions: 8"), "completions must be the same number as parallelism"},
		"a wide initializer":        {changed(t, initialized, "name: data,", "name: data, replicas: 2,"), "spec.replicatedJobs[0] (data): others depend on it with the status Complete, and it has 2 pods"},
		"no order":                  {changed(t, initialized, "  - {name: model,", "  - {name: other, template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}\n  - {name: model,"), "spec.replicatedJobs[1] (other): it has no dependsOn"},
		"an initializer that waits": {changed(t, initialized, "{name: data, status: Complete}]", "{name: data, status: Ready}]"), "spec.replicatedJobs[1] (model): others depend on it"},
		"labeled nodes":             {changed(t, pair(""), "annotations: {}", "annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack, alpha.jobset.sigs.k8s.io/node-selector: 'true'}"), "annotation alpha.jobset.sigs.k8s.io/node-selector cannot be kept"},
		"an agent":                  {pair("  failurePolicy: {restartStrategy: InPlaceRestart}\n"), "needs JobSet's agent"},
		"a text of a Job":           {pair("  failurePolicy: {rules: [{name: r, action: FailJobSet, onJobFailureMessagePatterns: [x]}]}\n"), "spec.failurePolicy.rules[0] (r): onJobFailureMessagePatterns"},
		"an index's own limit":      {changed(t, trained, "completions: 2", "completions: 2\n        backoffLimitPerIndex: 1"), "backoffLimitPerIndex"},
		"three awaited": {
			pair("  - {name: c, template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}\n"), "spec.successPolicy awaits 3 replicated jobs",
		},
		"any of many": {pair("  successPolicy: {operator: Any}\n"), "spec.successPolicy awaits 2 replicated jobs"},
		"a failure of a pod that a Job ignores": {
			changed(t, trained, "completions: 2", "completions: 2\n        podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [42]}}]}"), "podFailurePolicy.rules[0] cannot be kept",
		},
	} {
		if _, err := read(t, c.manifest).Serve(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestAFailurePolicyBecomesABudgetAndRules(t *testing.T) {
	for name, c := range map[string]struct {
		manifest string
		restarts int32
		oom      *int32
		rules    []v1alpha1.RecoveryRule
	}{
		"none: as many failures as the Job allows":      {trained, 6, nil, nil},
		"none, and a Job that fails with its first pod": {changed(t, trained, "completions: 2", "completions: 2\n        backoffLimit: 0"), 0, ptr.To[int32](0), nil},
		"a limit, whatever the Job allows":              {changed(t, trained, "  suspend: false", "  failurePolicy: {maxRestarts: 2}\n  suspend: false"), 2, ptr.To[int32](2), nil},
		"one Job of several with one pod each restarts": {
			pair("  - {name: c, replicas: 3, template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}\n" +
				"  successPolicy: {operator: All, targetReplicatedJobs: [c]}\n  failurePolicy: {maxRestarts: 5, rules: [" +
				"{name: a, action: RestartJob, targetReplicatedJobs: [c]}, {name: b, action: RestartJobAndIgnoreMaxRestarts, targetReplicatedJobs: [the-workers]}]}\n"), 5, nil,
			[]v1alpha1.RecoveryRule{
				{Name: "a", Roles: []v1alpha1.Role{"Worker"}, Reasons: ownFailures, Scope: v1alpha1.ScopeReplica},
				{Name: "b", Roles: []v1alpha1.Role{"theworkers"}, Reasons: ownFailures, Cause: v1alpha1.CauseInfrastructure, Scope: v1alpha1.ScopeRole},
			},
		},
		"a policy without a limit": {pair("  failurePolicy: {}\n"), 0, ptr.To[int32](0), nil},
		"an exit code by which a Job, and the JobSet, ends": {
			changed(t, trained, "completions: 2", "completions: 2\n        podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [42]}}]}"), 6, nil,
			[]v1alpha1.RecoveryRule{{Roles: []v1alpha1.Role{"Worker"}, ExitCodes: []int32{42}, Cause: v1alpha1.CauseFatal}},
		},
		"a launcher that may not fail, and workers that may": {
			pair("  failurePolicy: {maxRestarts: 5, rules: [{name: a, action: FailJobSet, targetReplicatedJobs: [launcher]}, " +
				"{name: b, action: RestartJobSetAndIgnoreMaxRestarts, targetReplicatedJobs: [the-workers]}]}\n"), 5, nil,
			[]v1alpha1.RecoveryRule{
				{Name: "a", Roles: []v1alpha1.Role{"Master"}, Reasons: ownFailures, Cause: v1alpha1.CauseFatal},
				{Name: "b", Roles: []v1alpha1.Role{"Worker"}, Reasons: ownFailures, Cause: v1alpha1.CauseInfrastructure, Scope: v1alpha1.ScopeJob},
			},
		},
	} {
		got := served(t, read(t, c.manifest)).Child.Spec.Recovery
		if *got.MaxRestarts != c.restarts || ptr.Deref(got.MaxOOMRestarts, -1) != ptr.Deref(c.oom, -1) {
			t.Errorf("%s: %d restarts and %v out of memory, want %d and %v", name, *got.MaxRestarts, got.MaxOOMRestarts, c.restarts, c.oom)
		}
		if diff := cmp.Diff(c.rules, got.Rules); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
