package serve

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/operator/cluster"
)

func TestAJobInAnExcludedNamespaceGetsOneEventAndNothingElse(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	filter := OutsideOf([]string{"closed"}, recorder)
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

// JobSet's controller, or Kueue's of another cluster, runs a job also where this operator runs none.
func TestAJobOfAnotherControllerGetsNoEventInAnExcludedNamespace(t *testing.T) {
	for kind, isExcluded := range map[string]bool{"JobSet": false, "PyTorchJob": true} {
		recorder := events.NewFakeRecorder(10)
		job := Kind{Name: kind, version: "jobset.x-k8s.io/v1alpha2"}.empty() // it names no controller, as most JobSets
		job.SetNamespace("closed")
		packed, err := pack(job)
		if err != nil {
			t.Fatal(err)
		}
		cached, isObject := packed.(client.Object)
		if !isObject || OutsideOf([]string{"closed"}, recorder).Create(event.CreateEvent{Object: cached}) || (len(recorder.Events) == 1) != isExcluded {
			t.Errorf("%s: %d Events", kind, len(recorder.Events))
		}
	}
}

// A child whose cached copy lacks the hash is applied in every reconcile.
func TestTheCacheKeepsTheHashOfWhatAChildWasMadeFrom(t *testing.T) {
	cached, err := cluster.CacheOptions(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for object, rules := range cached.ByObject {
		if _, isJob := object.(*v1alpha1.TrainingJob); !isJob {
			continue
		}
		job := &v1alpha1.TrainingJob{}
		job.Annotations = map[string]string{v1alpha1.AnnotationKubeflowSource: "hash", "other": "dropped"}
		trimmed, err := rules.Transform(job)
		if err != nil {
			t.Fatal(err)
		}
		kept, isJob := trimmed.(*v1alpha1.TrainingJob)
		if !isJob || kept.Annotations[v1alpha1.AnnotationKubeflowSource] != "hash" || kept.Annotations["other"] != "" {
			t.Errorf("the cache keeps %+v, want the hash alone", trimmed)
		}
		return
	}
	t.Error("the cache has no rule for TrainingJobs")
}
