package ledger

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// workload is what is read of a Workload of Kueue.
type workload struct {
	Spec   struct{ Active *bool }
	Status struct {
		Conditions []metav1.Condition
		Admission  struct {
			PodSetAssignments []struct{ ResourceUsage corev1.ResourceList }
		}
	}
}

// clusterQueue is what is read of a ClusterQueue of Kueue.
type clusterQueue struct {
	Spec struct {
		CohortName     string
		ResourceGroups []struct{ Flavors []flavor }
	}
	Status struct{ FlavorsReservation []flavor }
}

type flavor struct {
	Resources []struct {
		Name                corev1.ResourceName
		NominalQuota, Total resource.Quantity
	}
}

// nominal returns the quota of the resource; -1 if the queue may borrow.
func (c *clusterQueue) nominal(name corev1.ResourceName) (amount int64) {
	if c.Spec.CohortName != "" {
		return -1
	}
	for _, group := range c.Spec.ResourceGroups {
		quota, _ := amounts(group.Flavors, name)
		amount += quota
	}
	return amount
}

func (c *clusterQueue) reserved(name corev1.ResourceName) int64 {
	_, total := amounts(c.Status.FlavorsReservation, name)
	return total
}

func amounts(flavors []flavor, name corev1.ResourceName) (quota, total int64) {
	for _, f := range flavors {
		for _, r := range f.Resources {
			if r.Name == name {
				quota, total = quota+r.NominalQuota.Value(), total+r.Total.Value()
			}
		}
	}
	return quota, total
}

// readAs returns an object as T. What is not of its type stays zero, and breaks a sentence.
func readAs[T any](object *unstructured.Unstructured) *T {
	typed := new(T)
	if text, err := json.Marshal(object.Object); err == nil {
		_ = json.Unmarshal(text, typed)
	}
	return typed
}
