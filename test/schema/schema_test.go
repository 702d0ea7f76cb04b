package schema_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/schema"
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
