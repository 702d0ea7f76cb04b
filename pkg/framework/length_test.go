package framework_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/framework"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

// mostBytes is the longest variable that Linux starts a program with, with its name and the byte that ends it: MAX_ARG_STRLEN.
const mostBytes = 128 << 10

// isAccepted is the schema's rule for the replicas of a TensorFlow job that is not elastic.
func isAccepted(name string, replicas map[v1alpha1.Role]int) bool {
	sum := 0
	for role, n := range replicas {
		digits := n
		switch {
		case n > 1000:
			digits = 4*n - 1110
		case n > 100:
			digits = 3*n - 110
		}
		sum += n*(2*len(name)+len(role)+17) + digits
	}
	return sum <= 130980
}

// The rule knows no namespace. It refuses no job that could run in the shortest one, and every other.
func TestARefusedTFConfigIsTooLongInEveryNamespace(t *testing.T) {
	for _, name := range []string{"j", "four", "a-name-of-20-letters", strings.Repeat("n", 52)} {
		for what, others := range map[string]map[v1alpha1.Role]int{
			"workers": {}, "with a chief": {v1alpha1.Chief: 1}, "with parameter servers": {v1alpha1.Chief: 1, v1alpha1.PS: 150},
		} {
			of := func(workers int) map[v1alpha1.Role]int {
				all := map[v1alpha1.Role]int{v1alpha1.Worker: workers}
				for role, n := range others {
					all[role] = n
				}
				return all
			}
			most := 1
			for isAccepted(name, of(most+1)) {
				most++
			}
			if is := bytesOf(name, of(most)); is > mostBytes+200 {
				t.Errorf("%s, %s: %d workers are accepted, and make %d bytes of TF_CONFIG", name, what, most, is)
			}
			if is := bytesOf(name, of(most+1)); is <= mostBytes {
				t.Errorf("%s, %s: %d workers are refused, and make only %d bytes of TF_CONFIG", name, what, most+1, is)
			}
		}
	}
}

// bytesOf returns the length of the chief's, or else a worker's, variable as the kernel counts it, in a namespace with a name of one letter.
func bytesOf(name string, replicas map[v1alpha1.Role]int) int {
	options := []builder.JobOption{builder.Framework(v1alpha1.TensorFlow)}
	for role, n := range replicas {
		options = append(options, builder.Replicas(role, n))
	}
	job := builder.Job(name, options...)
	job.Namespace = "n"
	environment := framework.For(v1alpha1.TensorFlow).Environment(job)(state.Leader(&job.Spec))
	return len(fmt.Sprintf("%s=%s", environment[0].Name, environment[0].Value)) + 1
}
