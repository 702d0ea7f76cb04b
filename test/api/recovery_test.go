//go:build e2e

package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// recoveries says for changes of the good job that have to do with recovery which sentence refuses them.
var recoveries = []struct{ name, change, refusal string }{
	{"a rule as it should be", `spec: {recovery: {rules: [{roles: [Worker], exitCodes: [75], scope: Job, cause: Infrastructure}]}}`, ""},
	{
		"a rule that matches nothing", `spec: {recovery: {rules: [{cause: Fatal}]}}`,
		"a rule must match something: write roles, containerName, exitCodes, signals, reasons or conditions",
	},
	{
		"a rule without an outcome", `spec: {recovery: {rules: [{exitCodes: [1]}]}}`,
		"a rule must change something: write cause, scope or both",
	},
	{
		"a rule that fails the job and names a scope", `spec: {recovery: {rules: [{signals: [9], cause: Fatal, scope: Job}]}}`,
		"cause: Fatal fails the job and restarts nothing: leave scope out",
	},
	{
		"a rule for success", `spec: {recovery: {rules: [{exitCodes: [0], scope: Job}]}}`,
		"spec.recovery.rules[0].exitCodes[0] in body should be greater than or equal to 1",
	},
	{"a rule with an unknown cause", `spec: {recovery: {rules: [{exitCodes: [1], cause: Bad}]}}`, `Unsupported value: "Bad"`},
	{
		"21 rules", `spec: {recovery: {rules: [` + strings.TrimSuffix(strings.Repeat(`{exitCodes: [1], scope: Job},`, 21), ",") + `]}}`,
		"spec.recovery.rules: Too many: 21: must have at most 20 items",
	},
	{
		"a window of a second", `spec: {recovery: {windowSeconds: 1}}`,
		"spec.recovery.windowSeconds in body should be greater than or equal to 60",
	},
	{
		"an endless wait for evidence", `spec: {recovery: {incidentWindowSeconds: 3600}}`,
		"spec.recovery.incidentWindowSeconds in body should be less than or equal to 600",
	},
	{"a stall of a second", `spec: {progress: {stallAfterSeconds: 1}}`, "spec.progress.stallAfterSeconds in body should be greater than or equal to 10"},
	{"a page on a port that needs root", `spec: {progress: {port: 80}}`, "spec.progress.port in body should be greater than or equal to 1024"},
	{"a page on the host network", `spec: {progress: {port: 9500}, replicaSpecs: {Worker: {template: {spec: {hostNetwork: true}}}}}`, "name that port in the ports of the role's main container"},
	{"an unknown action on a stall", `spec: {progress: {action: Pray}}`, `Unsupported value: "Pray": supported values: "Notify", "Restart"`},
	{"a rendezvous outside", meetingAt(`{backend: etcd-v2, endpoint: "etcd:2379", conf: ["timeout=900"]}`), ""},
	{
		"a rendezvous outside that does not say where", meetingAt(`{backend: etcd}`),
		"a rendezvous of another backend than c10d is outside the job: write its endpoint, host:port",
	},
	{"a rendezvous of an unknown kind", meetingAt(`{backend: zeus}`), `Unsupported value: "zeus": supported values: "c10d", "etcd", "etcd-v2"`},
	{"names for an elastic PyTorch job's leader alone", `spec: {framework: PyTorch, elastic: {minReplicas: 1, maxReplicas: 8}, network: {dnsNames: Leader}}`, needsNames},
	{"names for a TensorFlow job's leader alone", `spec: {framework: TensorFlow, network: {dnsNames: Leader}}`, needsNames},
	{"names for a Custom job's leader alone", `spec: {framework: Custom, network: {dnsNames: Leader}}`, ""},
	{"names for all of a JAX job", `spec: {framework: JAX, network: {dnsNames: All}}`, ""},
	{"names for some", `spec: {network: {dnsNames: Some}}`, `Unsupported value: "Some": supported values: "All", "Leader"`},
	{"a setting of a rendezvous that is none", meetingAt(`{conf: [fast]}`), "spec.elastic.rendezvous.conf[0] in body should match"},
}

const needsNames = "only the ranks of JAX, Custom and PyTorch jobs that are not elastic find each other by their leader alone: leave network.dnsNames out or write All"

func meetingAt(rendezvous string) string {
	return `spec: {framework: PyTorch, elastic: {minReplicas: 1, maxReplicas: 8, rendezvous: ` + rendezvous + `}}`
}

func TestARecoveryThatCannotBeMeantIsRefusedWithASentence(t *testing.T) {
	for _, c := range recoveries {
		t.Run(c.name, func(t *testing.T) {
			expectRefusal(t, admin.Create(t.Context(), job(t, "default", c.change), client.DryRunAll), c.refusal)
		})
	}
}

// longStatus is about the longest status that an operator writes for a job of 10,000 replicas.
func longStatus() v1alpha1.TrainingJobStatus {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	failure := v1alpha1.Failure{
		Role: v1alpha1.Worker, Index: 9999, Attempt: 1000, Cause: v1alpha1.CauseInfrastructure, Pod: strings.Repeat("p", 253), Node: strings.Repeat("n", 253),
		ExitCode: ptr.To[int32](137), Reason: strings.Repeat("r", 128), Message: strings.Repeat("m", 1024), Time: now,
	}
	status := v1alpha1.TrainingJobStatus{
		Phase: v1alpha1.PhaseRunning, Message: strings.Repeat("m", 1024), Ready: "10000/10000", LastFailure: &failure,
		ReplicaStatuses: map[v1alpha1.Role]v1alpha1.ReplicaStatus{v1alpha1.Worker: {
			Active: 10000, Ready: 10000,
		}},
		Memory: v1alpha1.Memory{Roles: map[v1alpha1.Role]v1alpha1.RoleMemory{v1alpha1.Worker: {
			Started: everySecond(""), Replacements: everySecond(":1"),
			RestartsInRow: everySecond(":1"), NextStarts: strings.Repeat("9999:1767225600,", 10000),
		}}},
		Progress: &v1alpha1.ProgressStatus{Step: 1 << 40, Checkpoint: strings.Repeat("c", 1024), RenewTime: &now},
	}
	for range 10 {
		status.Incidents = append(status.Incidents, v1alpha1.Incident{Failure: failure, Scope: v1alpha1.ScopeJob, Followers: 9999, RestartTime: now})
	}
	for n := range 16 {
		status.AvoidedNodes = append(status.AvoidedNodes, v1alpha1.AvoidedNode{Name: fmt.Sprintf("%s%02d", strings.Repeat("n", 251), n), Failures: 2, ExpirationTime: now})
	}
	for _, name := range []v1alpha1.BudgetName{v1alpha1.BudgetRestarts, v1alpha1.BudgetOOMRestarts, v1alpha1.BudgetHangRestarts, v1alpha1.BudgetRuleMadeLosses, v1alpha1.BudgetEvaluatorRestarts} {
		status.Budgets = append(status.Budgets, v1alpha1.Budget{Name: name, Used: 100, Limit: 100})
		status.Memory.Charges = append(status.Memory.Charges, v1alpha1.Charges{Name: name, Times: slices.Repeat([]metav1.Time{now}, 100)})
	}
	return status
}

// everySecond writes a set of indexes that cannot be written shorter: "0,2,4", each with a suffix.
func everySecond(suffix string) string {
	var indexes []string
	for i := 0; i < 10000; i += 2 {
		indexes = append(indexes, fmt.Sprint(i)+suffix)
	}
	return strings.Join(indexes, ",")
}

// A status that the API server refuses would be tried again for ever.
func TestTheLongestStatusIsAccepted(t *testing.T) {
	j := typed(t, job(t, namespace(t, nil), `{metadata: {name: long}, spec: {framework: Custom, replicaSpecs: {Worker: {replicas: 10000}}}}`))
	create(t, j)
	j.Status = longStatus()
	text, err := json.Marshal(j.Status)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the status has %d bytes", len(text))
	if len(text) > 320*1024 {
		t.Errorf("the status has %d bytes, more than 320 KiB", len(text))
	}
	if err := admin.Status().Update(t.Context(), j); err != nil {
		t.Errorf("the status is refused: %.2000s", err)
	}
}
