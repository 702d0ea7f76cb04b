//go:build kubeflow

package moving

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kubeflow's operator begins beside this one: this one steps back from its jobs, and goes on with them when that one has ended.
func TestTwoOperators(t *testing.T) {
	address := freeAddress(t)
	startOurs(t, "--metrics-bind-address="+address, "--metrics-secure=false")
	m := movers{t, namespace(t, "rivals")}
	m.watchDoubles()
	ends, breaks := m.create("ends"), m.create("breaks", "POLICY", "ExitCode")
	before, broken := m.hasPods(ends, corev1.PodRunning), m.hasPods(breaks, corev1.PodRunning)
	ends.until(t, "Running")
	breaks.until(t, "Running")

	endFormer := startFormer(t)
	exit(t, "137", broken["breaks-worker-0"]) // both restart it; until then both write the same status
	until(t, "this operator steps back", func() (bool, any) { return !m.isServed(breaks), "a TrainingJob" })
	until(t, "an Event reports it", func() (bool, any) {
		var events corev1.EventList
		err := kube.List(t.Context(), &events, client.InNamespace(m.namespace))
		return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == "SteppedBack" && e.InvolvedObject.Name == "breaks" && strings.Contains(e.Message, "training-operator")
		}), err
	})
	if text := scrape(t, address); !strings.Contains(text, "training_operator_jobs_stepped_back_total{") {
		t.Errorf("the metrics count no job:\n%s", text)
	}
	breaks.until(t, "Running")
	late := m.create("late") // under both
	m.hasPods(late, corev1.PodRunning)
	late.until(t, "Running")
	if after := ends.pods(t); !slices.Equal(uids(before), uids(after)) {
		t.Errorf("the pods were %v and are %v", uids(before), uids(after))
	}
	exit(t, "0", ends.pods(t)["ends-master-0"])
	ends.until(t, "Succeeded")

	endFormer()
	broken = m.hasPods(breaks, corev1.PodRunning)
	exit(t, "137", replica(t, broken, "worker", "0"))
	m.isNew(breaks, broken)
	for _, j := range []job{breaks, late} {
		j.until(t, "Running")
		exit(t, "0", replica(t, m.hasPods(j, corev1.PodRunning), "master", "0"))
		j.until(t, "Succeeded")
	}
}

// replica returns the pod of a replica, whose name depends on the operator that made it.
func replica(t *testing.T, pods map[string]corev1.Pod, role, index string) corev1.Pod {
	t.Helper()
	for _, pod := range pods {
		if pod.Labels["training.kubeflow.org/replica-type"] == role && pod.Labels["training.kubeflow.org/replica-index"] == index {
			return pod
		}
	}
	t.Fatalf("no pod of %s %s in %v", role, index, pods)
	return corev1.Pod{}
}

// freeAddress returns an address of this machine that is free.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// scrape returns the lines of the metrics that count jobs left to another controller.
func scrape(t *testing.T, address string) string {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "training_operator_jobs_") {
			lines = append(lines, line)
		}
	}
	return fmt.Sprint(lines)
}
