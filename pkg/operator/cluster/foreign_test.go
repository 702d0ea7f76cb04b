package cluster

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A client that may patch pods can make one look like a later life of a job's replica. The job must then show why it waits.
func TestAPodOfALifeThatTheJobNeverHadIsToldOnce(t *testing.T) {
	const live = "7"
	job := func(version string) *v1alpha1.TrainingJob {
		j := builder.Job("j", builder.Workers(1), builder.StartedAt(0))
		j.ResourceVersion = version
		return j
	}
	for name, c := range map[string]struct {
		cached string // resourceVersion
		pod    builder.SnapshotOption
		want   int
	}{
		"the job's own pod":                  {live, builder.Running("worker", 0), 0},
		"of a later life, in an old cache":   {"6", builder.Running("worker", 0, builder.Life(9, 0)), 0},
		"of a life that there never was":     {live, builder.Running("worker", 0, builder.Life(9, 0)), 1},
		"of a life that is over, which goes": {live, builder.Running("worker", 0, builder.Life(0, 0)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			cl, _ := refusing()
			recorder := events.NewFakeRecorder(10)
			cl.live, cl.events = &registry{jobs: []*v1alpha1.TrainingJob{job(live)}}, recorder
			s := builder.Snapshot(job(c.cached), c.pod)
			for range 3 {
				again, err := cl.Read(t.Context(), s, s.Reads())
				if err != nil {
					t.Fatal(err)
				}
				o := &state.Observed{Job: s.Job}
				if cl.addMemo(o); again != (c.want > 0) || (o.Foreign == "j-worker-0-a9r0") != again {
					t.Errorf("there is news: %t, the next snapshot names %q", again, o.Foreign)
				}
			}
			if len(recorder.Events) != c.want {
				t.Fatalf("%d Events, want %d", len(recorder.Events), c.want)
			}
			if c.want > 0 {
				if event := <-recorder.Events; !strings.Contains(event, "Warning NameConflict The operator did not create pod j-worker-0-a9r0, whose life this job never had") {
					t.Errorf("emitted: %s", event)
				}
			}
		})
	}
}
