//go:build chaos

package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// attack is a manifest that somebody might send by mistake or on purpose, and what is to become of it.
type attack struct {
	manifest map[string]any
	what     string
	want     outcome
}

type outcome int

const (
	// isRefused: the API server refuses it with a sentence.
	isRefused outcome = iota
	// isStalled: it is accepted, the API server refuses its pods, and the job says why.
	isStalled
	// isTaken: it is accepted, and the operator takes it on.
	isTaken
)

func (a *attack) name() string {
	return (&unstructured.Unstructured{Object: a.manifest}).GetName()
}

// set sets a field: a.set(3, "spec", "suspend").
func (a *attack) set(value any, path ...string) {
	at := a.manifest
	for _, key := range path[:len(path)-1] {
		next, isMap := at[key].(map[string]any)
		if !isMap {
			next = map[string]any{}
			at[key] = next
		}
		at = next
	}
	at[path[len(path)-1]] = value
}

// worker sets a field of the worker's replica spec, container one of its only container.
func (a *attack) worker(value any, path ...string) {
	a.set(value, append([]string{"spec", "replicaSpecs", "Worker"}, path...)...)
}

func (a *attack) pod(value any, path ...string) {
	a.worker(value, append([]string{"template", "spec"}, path...)...)
}

func (a *attack) container(value any, path ...string) {
	container := map[string]any{"name": "main", "image": "example.test/train:1"}
	container[path[0]] = nested(value, path[1:])
	a.pod([]any{container}, "containers")
}

// nested returns the value below a path, in which [] is a list of one named item.
func nested(value any, path []string) any {
	switch {
	case len(path) == 0:
		return value
	case path[0] == "[]":
		item := nested(value, path[1:]).(map[string]any)
		item["name"] = "one"
		return []any{item}
	}
	return map[string]any{path[0]: nested(value, path[1:])}
}

// newAttack returns the manifest with that number: a good one in which one thing is changed.
func newAttack(number int, random *rand.Rand) *attack {
	a := &attack{manifest: map[string]any{"apiVersion": "trainingjob.dev/v1alpha1", "kind": "TrainingJob"}}
	a.set(fmt.Sprintf("h%d", number), "metadata", "name")
	a.set([]string{"Custom", "PyTorch", "TensorFlow", "JAX"}[random.IntN(4)], "spec", "framework")
	a.worker(int64(1), "replicas")
	a.container("example.test/train:1", "image")
	weapon := weapons[number%len(weapons)]
	a.want = weapon.want
	value := weapon.values[random.IntN(len(weapon.values))]
	weapon.strike(a, value)
	a.what = fmt.Sprintf("%s %.60v", weapon.what, value)
	return a
}

// weapon changes one thing in a manifest, to one of its values.
type weapon struct {
	what   string
	want   outcome
	values []any
	strike func(*attack, any)
}

// at returns what sets a field of the job.
func at(path ...string) func(*attack, any) {
	return func(a *attack, value any) { a.set(value, path...) }
}

func ofWorker(path ...string) func(*attack, any) {
	return func(a *attack, value any) { a.worker(value, path...) }
}

func ofPod(path ...string) func(*attack, any) {
	return func(a *attack, value any) { a.pod(nested(value, path[1:]), path[0]) }
}

func ofContainer(path ...string) func(*attack, any) {
	return func(a *attack, value any) { a.container(value, path...) }
}

// oneMoreRole gives the job one more role, which no framework of its own has.
func oneMoreRole(a *attack, role any) {
	a.set("JAX", "spec", "framework")
	a.set(map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}}},
		"spec", "replicaSpecs", role.(string))
}

var huge = strings.Repeat("x", 300_000)
