//go:build frameworks

package frameworks

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// A way for one of four ranks to end, the cause that the status must give, and words that its log must have; empty if the log goes with the pod.
type way struct {
	name  string
	end   func(*run, *corev1.Pod)
	cause v1alpha1.Cause
	words string
	// mend undoes it once the restart is decided; nil if nothing is to be undone.
	mend func(*run, *corev1.Pod)
	// reason is what the status must give beside the cause; empty for any.
	reason string
}

// exception is how most programs fail. The other ranks end with the same code in the same second or two.
const exception = "ValueError: batch 17 is empty"

var (
	raises    = way{name: "exit 1, Python exception", end: does("raise ValueError('batch 17 is empty')"), cause: v1alpha1.CauseRetryable, words: exception}
	exits     = way{name: "exit 42", end: does("os._exit(42)"), cause: v1alpha1.CauseRetryable, words: "step="}
	fills     = way{name: "out of memory", end: (*run).fillMemory, cause: v1alpha1.CauseOOM, words: "step="}
	kills     = way{name: "kill -9", end: signals("kill"), cause: v1alpha1.CauseRetryable, words: "step="}
	segfaults = way{name: "SIGSEGV", end: does("import ctypes; ctypes.string_at(0)"), cause: v1alpha1.CauseRetryable, words: "step="}
	ofDevice  = way{name: "its device breaks", end: (*run).breakDevice, mend: (*run).mendDevice, cause: v1alpha1.CauseInfrastructure, reason: v1alpha1.ReasonDeviceUnhealthy}
	ofNode    = way{name: "its node dies"}
)

// signals sends the rank's process SIGKILL or SIGSTOP, from outside: the verb is the lab's.
func signals(verb string) func(*run, *corev1.Pod) {
	return func(r *run, pod *corev1.Pod) { lab("pod", verb, pod.Name, "-n", r.namespace, "--dir", labDir) }
}

// does has the rank's main thread run a line of Python between two steps.
func does(python string) func(*run, *corev1.Pod) {
	return func(r *run, pod *corev1.Pod) {
		r.kubectl("exec", pod.Name, "--", "sh", "-c", fmt.Sprintf("echo %q > /tmp/new && mv /tmp/new /tmp/do", python))
	}
}

func (w way) String() string { return w.name }

// A tally counts what the status said of a fault that was made again and again.
type tally struct {
	of             string
	how            way
	rounds         int
	wrong, silent  []string
	decided, again []float64 // seconds from the fault until the restart was in the status, and until all ranks ran again
}

func (t *tally) row() string {
	of := func(bad []string) string { return fmt.Sprintf("%d of %d", t.rounds-len(bad), t.rounds) }
	log := of(t.silent)
	if t.how.words == "" {
		log = "-"
	}
	return markdown([]string{t.of, t.how.name, of(t.wrong), log, spread(t.decided), spread(t.again)})
}

// spread returns the median, the smallest and the largest.
func spread(of []float64) string {
	if len(of) == 0 {
		return "-"
	}
	sorted := slices.Sorted(slices.Values(of))
	return fmt.Sprintf("%.1f (%.1f to %.1f)", sorted[len(sorted)/2], sorted[0], sorted[len(sorted)-1])
}
