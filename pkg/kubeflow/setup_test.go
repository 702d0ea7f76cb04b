package kubeflow

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

func TestAJobInAnExcludedNamespaceGetsOneEventAndNothingElse(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	filter := outsideOf([]string{"closed"}, recorder)
	for namespace, want := range map[string]bool{"closed": false, "open": true} {
		job := Kind{Name: "PyTorchJob"}.empty()
		job.SetNamespace(namespace)
		passes := []bool{
			filter.Create(event.CreateEvent{Object: job}), filter.Update(event.UpdateEvent{ObjectOld: job, ObjectNew: job}),
			filter.Delete(event.DeleteEvent{Object: job}), filter.Generic(event.GenericEvent{Object: job}),
		}
		for _, passed := range passes {
			if passed != want {
				t.Errorf("events in %s pass: %v, want %t for all", namespace, passes, want)
			}
		}
	}
	if len(recorder.Events) != 1 {
		t.Fatalf("%d Events, want 1", len(recorder.Events))
	}
	if text := <-recorder.Events; !strings.Contains(text, v1alpha1.EventNamespaceExcluded) || !strings.Contains(text, "namespace closed") {
		t.Errorf("Event %q names no namespace", text)
	}
}
