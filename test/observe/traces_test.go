//go:build alerts

package observe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// receiver is a collector of traces that keeps what it is sent.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans []*tracev1.Span
}

// Export implements the service of OTLP.
func (r *receiver) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// receive runs a collector until the test ends, and returns where.
func receive(t *testing.T) (*receiver, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r, server := &receiver{}, grpc.NewServer()
	collector.RegisterTraceServiceServer(server, r)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return r, "http://" + listener.Addr().String()
}

// of returns the spans of a job, in the order of their beginnings.
func (r *receiver) of(job string) []*tracev1.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*tracev1.Span
	for _, s := range r.spans {
		if attribute(s, "trainingjob.name") == job {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b *tracev1.Span) int { return cmp.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano) })
	return found
}

func attribute(s *tracev1.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// traces has a job that has crashed once and runs again tell so: once, in one trace, whose id is its UID.
func (l *lab) traces(t *testing.T) {
	want := []string{"scheduling", "starting", "running", "recovering", "detecting", "scheduling", "starting"}
	var spans []*tracev1.Span
	for end := time.Now().Add(patience); len(spans) < len(want) && time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		spans = l.receiver.of("twice")
	}
	uid := strings.TrimSpace(l.kubectl("get", "tj", "twice", "-o", "jsonpath={.metadata.uid}"))
	ids, names := map[string]bool{}, []string{}
	var recovering *tracev1.Span
	for _, s := range spans {
		names = append(names, s.Name)
		ids[string(s.SpanId)] = true
		if s.Name == "recovering" {
			recovering = s
		}
		if fmt.Sprintf("%x", s.TraceId) != strings.ReplaceAll(uid, "-", "") {
			t.Errorf("%s: trace %x of job %s", s.Name, s.TraceId, uid)
		}
	}
	t.Logf("the trace of a job that crashed once:\n%s", drawn(spans))
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) || len(ids) != len(want) {
		t.Fatalf("spans %v with %d ids, want %v", names, len(ids), want)
	}
	if cause, pod := attribute(recovering, "trainingjob.cause"), attribute(recovering, "k8s.pod.name"); cause != "Retryable" || pod != "twice-worker-0" {
		t.Errorf("the recovery is from %q of pod %q", cause, pod)
	}
}

// logs has the operator's log tell of that crash in one line, and with --log-level=debug of each plan.
func (l *lab) logs(t *testing.T) {
	_, file := l.operator()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var incidents, plans []string
	for line := range strings.Lines(string(text)) {
		var entry struct {
			Msg, Job, Plan string
			TrainingJob    struct{ Name string }
			Incident       struct {
				Cause, Scope string
				Charged      bool
			}
		}
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue
		}
		if entry.Msg == "incident" && entry.Job == "twice" && entry.Incident.Cause == "Retryable" && entry.Incident.Scope == "Job" && entry.Incident.Charged {
			incidents = append(incidents, line)
		}
		if entry.Msg == "planned" && entry.TrainingJob.Name == "twice" && strings.Contains(entry.Plan, "attempt 1, 1 restarts") {
			plans = append(plans, line)
		}
	}
	if len(incidents) != 1 || len(plans) == 0 {
		t.Fatalf("%d lines of the incident, %d of plans", len(incidents), len(plans))
	}
	t.Logf("%s%s", incidents[0], plans[0])
}

// drawn returns spans as a picture, a line for each.
func drawn(spans []*tracev1.Span) string {
	var out strings.Builder
	for _, s := range spans {
		begin := time.Duration(s.StartTimeUnixNano - spans[0].StartTimeUnixNano).Seconds()
		lasts := time.Duration(s.EndTimeUnixNano - s.StartTimeUnixNano).Seconds()
		fmt.Fprintf(&out, "%-11s |%s%s %.1f s, cause %q, pod %q\n", s.Name, strings.Repeat(" ", int(begin*2)), strings.Repeat("=", max(1, int(lasts*2))), lasts,
			attribute(s, "trainingjob.cause"), attribute(s, "k8s.pod.name"))
	}
	return out.String()
}
