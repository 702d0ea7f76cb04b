package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainingjob/operator/test/sim/builder"
)

// why reads the newest line of each rank of a job without progress, with the user's rights.
func TestWhyReadsTheNewestLines(t *testing.T) {
	_, objects := running("mnist", 2)
	line := func(before time.Duration) string {
		return builder.Epoch.Add(10*time.Minute-before).Format(time.RFC3339Nano) + " step 7\n"
	}
	for name, c := range map[string]struct {
		logs map[string]string
		fail error
		want string
	}{
		"one rank is silent":         {map[string]string{"mnist-worker-0": line(3 * time.Second), "mnist-worker-1": line(2 * time.Minute)}, nil, "worker-1 2m old, worker-0 3s old."},
		"a rank has printed nothing": {map[string]string{"mnist-worker-0": line(3 * time.Second)}, nil, "worker-1 none yet, worker-0 3s old."},
		"a node has no logs":         {nil, errors.New("the server could not find the requested resource ( pods/log mnist-worker-1)"), "could not be read: the node does not have it: fake nodes (kwok) have no logs"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(interceptor.Funcs{}, objects...)
			connect := s.connect
			s.connect = func() (*connection, error) {
				made, err := connect()
				made.log = func(_ context.Context, _, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
					if *o.TailLines != 1 {
						t.Errorf("it reads %d lines", *o.TailLines)
					}
					return io.NopCloser(strings.NewReader(c.logs[pod])), c.fail
				}
				return made, err
			}
			if status := s.run(t.Context(), []string{"why", "mnist"}); status != 0 || !strings.Contains(s.out.String(), c.want) {
				t.Errorf("status %d, want %q:\n%s%s", status, c.want, s.out, s.err)
			}
		})
	}
}

// A kubelet without a log is no missing CRD.
func TestExplainNotFound(t *testing.T) {
	for text, want := range map[string]string{
		"worker-1, attempt 0: the server could not find the requested resource ( pods/log mnist-worker-1)": "the node does not have it",
		"the server could not find the requested resource (get trainingjobs.trainingjob.dev)":              "the cluster does not know TrainingJobs",
	} {
		if got := explain(errors.New(text), nil); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
