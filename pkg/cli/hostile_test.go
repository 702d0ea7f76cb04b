package cli

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A training chooses the name of its checkpoint and its metrics, and a program its last words.
func TestWordsOfAJobCommandNoTerminal(t *testing.T) {
	const hostile = "k\x1b]0;owned\x07\x1b[2J\nok    All is well\u202e"
	job := builder.Job("mnist", builder.Workers(1), builder.StartedAt(0), builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.Phase, s.Reason, s.Message = v1alpha1.PhasePending, hostile, hostile
		s.Progress = &v1alpha1.ProgressStatus{Checkpoint: hostile, Metrics: map[string]string{hostile: hostile}}
	}))
	for _, verb := range [][]string{{"status", "mnist"}, {"list"}, {"list", "-o", "wide"}, {"timeline", "mnist"}, {"why", "mnist"}} {
		s := newStage(interceptor.Funcs{}, []client.Object{job.DeepCopy()}...)
		if status := s.run(t.Context(), verb); status != 0 {
			t.Fatalf("%v: %s", verb, s.err.String())
		}
		isBad := func(line string) bool {
			return strings.HasPrefix(line, "ok ") || strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) })
		}
		if lines := strings.Split(s.out.String(), "\n"); slices.ContainsFunc(lines, isBad) {
			t.Errorf("%v prints a command or a line of the job's: %q", verb, lines)
		}
	}
}
