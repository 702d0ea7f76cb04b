package framework_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

const (
	// mostBytes is the longest variable that Linux starts a program with, with its name and the byte that ends it: MAX_ARG_STRLEN.
	mostBytes = 128 << 10
	// tolerance is by how much the rules may be wrong: they count neither a master nor how long the variable's own name is.
	tolerance = 200
)

type counts map[v1alpha1.Role]int

// isAccepted is the schema's rule for the replicas of a job that is not elastic.
func isAccepted(of v1alpha1.Framework, name string, replicas counts) bool {
	if of == v1alpha1.TensorFlow {
		sum := 0
		for role, n := range replicas {
			sum += n*(2*len(name)+len(role)+17) + digits(n)
		}
		return sum <= 130980
	}
	for _, role := range []v1alpha1.Role{v1alpha1.PS, v1alpha1.Worker} {
		n, length := replicas[role], 2*len(name)+16
		if of != v1alpha1.XGBoost {
			length += len(role)
		}
		if (n-1)*length+digits(n) > 131060 {
			return false
		}
	}
	return true
}

// digits is what the rules count for the digits of so many indexes.
func digits(n int) int {
	switch {
	case n > 1000:
		return 4*n - 1110
	case n > 100:
		return 3*n - 110
	default:
		return n
	}
}

// The rules know no namespace. They refuse no job that could run in the shortest one, and every other.
func TestARefusedListOfReplicasIsTooLongInEveryNamespace(t *testing.T) {
	const worker, master, ps = v1alpha1.Worker, v1alpha1.Master, v1alpha1.PS
	for _, c := range []struct {
		of     v1alpha1.Framework
		grows  v1alpha1.Role
		others counts
	}{
		{v1alpha1.TensorFlow, worker, counts{}},
		{v1alpha1.TensorFlow, worker, counts{v1alpha1.Chief: 1}},
		{v1alpha1.TensorFlow, worker, counts{ps: 150}},
		{v1alpha1.XGBoost, worker, counts{}},
		{v1alpha1.XGBoost, worker, counts{master: 1}},
		{v1alpha1.LightGBM, worker, counts{}},
		{v1alpha1.LightGBM, worker, counts{master: 1}},
		{v1alpha1.Paddle, worker, counts{ps: 150}},
		{v1alpha1.Paddle, worker, counts{ps: 1, master: 1}},
		{v1alpha1.Paddle, ps, counts{worker: 150}},
	} {
		for _, name := range []string{"j", "four", "a-name-of-20-letters", strings.Repeat("n", 52)} {
			t.Run(fmt.Sprintf("%s, %s beside %v, %s", c.of, c.grows, c.others, name), func(t *testing.T) {
				holdsBound(t, c.of, name, func(n int) counts {
					all := maps.Clone(c.others)
					all[c.grows] = n
					return all
				})
			})
		}
	}
}

// holdsBound compares the first number of replicas that is refused, and the one before, with what a variable holds.
func holdsBound(t *testing.T, of v1alpha1.Framework, name string, with func(n int) counts) {
	t.Helper()
	most := 1
	for isAccepted(of, name, with(most+1)) {
		most++
	}
	if variable, is := longest(of, name, "n", with(most)); is > mostBytes+tolerance {
		t.Errorf("%d are accepted, and make %d bytes of %s", most, is, variable)
	}
	if variable, is := longest(of, name, "n", with(most+1)); is <= mostBytes {
		t.Errorf("%d are refused, and make only %d bytes of %s", most+1, is, variable)
	}
}

// longest returns the longest variable of the leader, and its length as the kernel counts it.
func longest(of v1alpha1.Framework, name, namespace string, replicas counts) (variable string, bytes int) {
	options := []builder.JobOption{builder.Framework(of)}
	for role, n := range replicas {
		options = append(options, builder.Replicas(role, n))
	}
	job := builder.Job(name, options...)
	job.Namespace = namespace
	for _, env := range framework.Environment(job)(state.Leader(&job.Spec)) {
		if is := len(env.Name + "=" + env.Value + "\x00"); is > bytes {
			variable, bytes = env.Name, is
		}
	}
	return variable, bytes
}
