package schema_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/schema"
)

func TestCheckStatus(t *testing.T) {
	at := metav1.Now()
	good := metav1.Condition{Type: "Running", Status: "True", Reason: "AllReplicasRunning", LastTransitionTime: at}
	strange := good
	strange.Reason = "pulling image 20%"
	for name, c := range map[string]struct {
		conditions []metav1.Condition
		refusal    string
	}{
		"a status as it should be":    {[]metav1.Condition{good}, ""},
		"a reason with a blank in it": {[]metav1.Condition{strange}, "conditions[0].reason"},
	} {
		err := schema.CheckStatus(&v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseRunning, Conditions: c.conditions})
		if (err == nil) != (c.refusal == "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s: error %v, want one of %q", name, err, c.refusal)
		}
	}
}

// An operator writes within these bounds. The API server refuses a status that another client made up.
func TestAStatusHasBounds(t *testing.T) {
	type status = v1alpha1.TrainingJobStatus
	at := metav1.Now()
	incident := v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Cause: v1alpha1.CauseHang, Time: at}, Scope: v1alpha1.ScopeJob, RestartTime: at}
	charges := v1alpha1.Charges{Name: v1alpha1.BudgetRestarts, Times: slices.Repeat([]metav1.Time{at}, 20_000)} // 10,000 replicas may be charged at once
	most := &status{Incidents: slices.Repeat([]v1alpha1.Incident{incident}, v1alpha1.MaxIncidents), Memory: v1alpha1.Memory{Charges: []v1alpha1.Charges{charges}}}
	for _, name := range v1alpha1.BudgetNames {
		most.Budgets = append(most.Budgets, v1alpha1.Budget{Name: name})
	}
	for _, cause := range v1alpha1.Causes {
		most.LastFailure = &v1alpha1.Failure{Role: "actor", Cause: cause, Time: at}
		if err := schema.CheckStatus(most); err != nil {
			t.Errorf("%s: %v", cause, err)
		}
	}
	for field, change := range map[string]func(*status){
		"incidents":                      func(s *status) { s.Incidents = append(s.Incidents, incident) },
		"incidents[0].cause":             func(s *status) { s.Incidents[0].Cause = "mine" },
		"incidents[0].scope":             func(s *status) { s.Incidents[0].Scope = "World" },
		"incidents[0].index":             func(s *status) { s.Incidents[0].Index = -1 },
		"incidents[0].followers":         func(s *status) { s.Incidents[0].Followers = -1 },
		"budgets[0].name":                func(s *status) { s.Budgets[0].Name = "my text" },
		"budgets[0].used":                func(s *status) { s.Budgets[0].Used = -1 },
		"memory.charges[0].name":         func(s *status) { s.Memory.Charges[0].Name = "mine" },
		"memory.restartsWithoutProgress": func(s *status) { s.Memory.RestartsWithoutProgress = -1 },
		"runningSeconds":                 func(s *status) { s.RunningSeconds = -1 },
		"suspendedSeconds":               func(s *status) { s.SuspendedSeconds = -1 },
		"lostSeconds.queue":              func(s *status) { s.LostSeconds.Queue = -1 },
		"attempt":                        func(s *status) { s.Attempt = -1 },
		"restarts":                       func(s *status) { s.Restarts = -1 },
		"progress.step":                  func(s *status) { s.Progress = &v1alpha1.ProgressStatus{Step: -1} },
	} {
		changed := most.DeepCopy()
		change(changed)
		if err := schema.CheckStatus(changed); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: error %v", field, err)
		}
	}
}
