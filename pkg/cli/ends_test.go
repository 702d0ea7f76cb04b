package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// frames is what a kubelet keeps of a program that aborted with many frames.
var frames = strings.Repeat("frame #7: torch::autograd::Engine::evaluate_function() + 0x2b1 (0x7f1e2c in libtorch_cpu.so)\n", 22)

// aborted returns a failed job whose worker-1 left this in its status, and its pods.
func aborted(words string) []client.Object {
	job := builder.Job("mnist", builder.Workers(2), builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.Phase, s.Reason, s.Message = v1alpha1.PhaseFailed, v1alpha1.ReasonMaxRestartsExceeded, "worker-1 exited with code 134 (Error)."
		s.LastFailure = &v1alpha1.Failure{
			Role: v1alpha1.Worker, Index: 1, Pod: "mnist-worker-1", Cause: v1alpha1.CauseRetryable, Reason: "Error", ExitCode: new(int32), Message: strings.TrimSpace(words[max(0, len(words)-900):]),
		}
		*s.LastFailure.ExitCode = 134
		s.Incidents = []v1alpha1.Incident{{Failure: *s.LastFailure, Scope: v1alpha1.ScopeJob, RestartTime: builder.Time(0)}}
	}), builder.Condition(v1alpha1.ConditionFailed, true, v1alpha1.ReasonMaxRestartsExceeded, 0))
	pod := podOf(job, 1, corev1.PodFailed)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 134, Reason: "Error", Message: words}}}}
	return []client.Object{job, podOf(job, 0, corev1.PodRunning), pod}
}

func TestTheLogExplainsWhatTheStatusDoesNot(t *testing.T) {
	const line = "CUDA error: device-side assert triggered"
	log := "2026-11-26T14:02:11Z step 12\n2026-11-26T14:02:12Z   what():  " + line + "\n2026-11-26T14:02:12Z " + strings.ReplaceAll(frames, "\n", "\n2026-11-26T14:02:12Z ")
	for _, c := range []struct {
		name, words string
		err         error
		reads       int
		want        bool
	}{
		{"a status that is full of frames", frames, nil, 1, true},
		{"a user who may not read logs", frames, errors.New("forbidden"), 1, false},
		{"a status that has the line", "what():  " + line + "\n" + frames[:600], nil, 0, true},
		{"a short log", "no data", nil, 0, false},
	} {
		for _, verb := range [][]string{{"why", "mnist"}, {"status", "mnist"}, {"report", "mnist"}} {
			s, reads := newStage(interceptor.Funcs{}, aborted(c.words)...), 0
			connected := s.connect
			s.connect = func() (*connection, error) {
				found, err := connected()
				found.log = func(_ context.Context, _, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
					if reads++; pod != "mnist-worker-1" || *o.TailLines > 1000 {
						return nil, fmt.Errorf("it reads %s, %+v", pod, o)
					}
					return io.NopCloser(strings.NewReader(log)), c.err
				}
				return found, err
			}
			status := s.run(t.Context(), verb)
			if said := s.out.String(); status != 0 || strings.Contains(said, line) != c.want || reads != c.reads || verb[0] != "report" && strings.Count(said, line) > 2 {
				t.Errorf("%s, %s: status %d, %d reads\n%s%s", c.name, verb, status, reads, said, s.err)
			}
			if said := s.out.String(); verb[0] == "why" && strings.Contains(said, "A kernel got a value out of range") != c.want {
				t.Errorf("%s: the next step is not for the line:\n%s", c.name, said)
			}
		}
	}
}
