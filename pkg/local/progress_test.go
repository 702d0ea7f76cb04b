//go:build linux

package local_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// envTrains is set for this program when it is a replica.
const envTrains = "LOCAL_TEST_TRAINS"

func TestMain(m *testing.M) {
	if os.Getenv(envTrains) != "" {
		train()
	}
	os.Exit(m.Run())
}

// train is a training that hangs in its first attempt, once its first report was read, and then ends.
func train() {
	if os.Getenv("TRAININGJOB_ATTEMPT") != "0" {
		os.Exit(0)
	}
	report := fmt.Sprintf(`{"time": %q, "step": 7, "metrics": {"loss": 0.25}, "attempt": 0}`, time.Now().UTC().Format(time.RFC3339Nano))
	listener, err := net.Listen("tcp", ":"+os.Getenv("TRAININGJOB_PROGRESS_PORT"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	err = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(report))) // the report is whole before the process stops
		fmt.Fprint(w, report)
		_ = http.NewResponseController(w).Flush()
		_ = syscall.Kill(0, syscall.SIGSTOP)
	}))
	fmt.Println(err)
	os.Exit(1)
}

// freePort returns a port at which no program listens, below the ports that the kernel gives to connections.
func freePort(t *testing.T) int32 {
	t.Helper()
	for port := 20000 + os.Getpid()%8000; port < 29000; port++ {
		if listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port)); err == nil {
			listener.Close()
			return int32(port)
		}
	}
	t.Fatal("no port is free")
	return 0
}

func TestAHangRestartsTheJob(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	job := jobOf(t, "PyTorch", fmt.Sprintf("%s=1 exec %s", envTrains, program), "Worker=2")
	job.Spec.Progress = &v1alpha1.Progress{Port: freePort(t), StallAfterSeconds: 1, Action: v1alpha1.StallRestart}
	result, shown := play(t, job)
	status := &result.Job.Status
	if status.Phase != v1alpha1.PhaseSucceeded || status.Attempt != 1 {
		t.Errorf("%s in attempt %d, want Succeeded in 1:\n%s", status.Phase, status.Attempt, shown)
	}
	want := []incident{{"worker-0", 0, v1alpha1.CauseHang, v1alpha1.ReasonProgressStalled, 0, v1alpha1.ScopeJob, true}}
	if diff := cmp.Diff(want, incidents(result.Job)); diff != "" {
		t.Errorf("incidents (-want +got):\n%s", diff)
	}
	if p := status.Progress; p == nil || p.Step != 7 || p.Metrics["loss"] != "0.25" {
		t.Errorf("the progress is %+v, want step 7 and loss 0.25", p)
	}
}
