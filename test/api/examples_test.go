//go:build e2e

package api_test

import (
	"maps"
	"os"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
)

// example reads the objects of a file, the first of which is the job.
func example(t *testing.T, name string) (*v1alpha1.TrainingJob, []string) {
	t.Helper()
	text, err := os.ReadFile("../../examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(text), "\n---\n")
	job := new(v1alpha1.TrainingJob)
	if err := yaml.Unmarshal([]byte(documents[0]), job); err != nil {
		t.Fatal(err)
	}
	return job, documents[1:]
}

// Peers reach a pod, others do not, and one that was taken out of the job's Service is no peer any more.
func TestWhoReachesAnIsolatedJob(t *testing.T) {
	job, others := example(t, "isolated.yaml")
	job.UID = "uid"
	own := new(networkingv1.NetworkPolicy)
	if err := yaml.UnmarshalStrict([]byte(others[0]), own); err != nil {
		t.Fatal(err)
	}
	shared := find[networkingv1.NetworkPolicy](t, rendered(t, tenant), "NetworkPolicy", "trainingjobs")
	worker := build.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, nil, nil).Labels
	other := job.DeepCopy()
	other.Name, other.UID = "other", "other"
	neighbour := build.Pod(other, state.Slot{Role: v1alpha1.Worker}, state.Life{}, nil, nil).Labels
	fenced := maps.Clone(worker)
	delete(fenced, v1alpha1.LabelJobName)
	for name, c := range map[string]struct {
		policy *networkingv1.NetworkPolicy
		from   map[string]string
		want   bool
	}{
		"a peer, of a job that isolates itself":           {own, worker, true},
		"a rank on a lost node, of one that does":         {own, fenced, false},
		"another job, of one that does":                   {own, neighbour, false},
		"another job of a namespace that lets in its own": {shared, neighbour, true},
		"a pod of no job, in such a namespace":            {shared, map[string]string{"app": "notebook"}, false},
	} {
		if !selects(t, &c.policy.Spec.PodSelector, worker) {
			t.Errorf("%s: the policy does not select the worker", name)
		}
		from := c.policy.Spec.Ingress[0].From[0]
		if got := selects(t, from.PodSelector, c.from); got != c.want || from.NamespaceSelector != nil {
			t.Errorf("%s: reaches the worker %v, want %v", name, got, c.want)
		}
	}
	// The operator reads the pages of a namespace that lets in its own: only from its own namespace, where no tenant may create pods.
	from := shared.Spec.Ingress[1].From
	operator := map[string]string{"app.kubernetes.io/name": operatorName}
	if len(from) != 1 || !selects(t, from[0].PodSelector, operator) || !selects(t, from[0].NamespaceSelector, map[string]string{"kubernetes.io/metadata.name": "trainingjob-system"}) ||
		selects(t, from[0].NamespaceSelector, map[string]string{"kubernetes.io/metadata.name": "team-b"}) || selects(t, from[0].PodSelector, neighbour) {
		t.Errorf("the second rule lets in %v, want the operator alone", from)
	}
	out := find[networkingv1.NetworkPolicy](t, rendered(t, base), "NetworkPolicy", operatorName).Spec.Egress[1]
	if len(out.To) != 1 || len(out.Ports) != 0 || !selects(t, out.To[0].PodSelector, worker) || !selects(t, out.To[0].NamespaceSelector, nil) || selects(t, out.To[0].PodSelector, map[string]string{"app": "notebook"}) {
		t.Errorf("the operator reaches %v, want the pods of training jobs", out)
	}
}

func selects(t *testing.T, by *metav1.LabelSelector, pod map[string]string) bool {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(by)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(labels.Set(pod))
}
