package export_test

import (
	"context"
	"encoding/hex"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/trainingjob/operator/pkg/trace"
	"github.com/trainingjob/operator/pkg/trace/export"
)

// receiver is a collector that takes OTLP.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	spans chan *tracev1.Span
}

func (r *receiver) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				r.spans <- span
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// collect runs a collector until the test ends and returns where.
func collect(t *testing.T) (*receiver, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{spans: make(chan *tracev1.Span, 100)}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, r)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return r, "http://" + listener.Addr().String()
}

// told are a job and a part of it, which is told first.
func told() []trace.Span {
	begin := time.Unix(1_800_000_000, 0)
	job := trace.Span{Trace: [16]byte{1, 2}, ID: [8]byte{3}, Name: trace.Job, Start: begin, End: begin.Add(time.Minute), Error: "FatalExit"}
	part := trace.Span{Trace: job.Trace, ID: [8]byte{4}, Parent: job.ID, Name: trace.Running, Start: begin.Add(time.Second), End: begin.Add(time.Minute),
		Attributes: []trace.Attribute{{Key: "trainingjob.name", Value: "ring"}, {Key: "trainingjob.attempt", Value: int64(1)}, {Key: "trainingjob.charged", Value: true}}}
	return []trace.Span{part, job}
}

// What is told arrives with the ids and times that it has: sent when the exporter ends at the latest.
func TestACollectorReceivesTheSpans(t *testing.T) {
	r, endpoint := collect(t)
	exporter, err := export.New(t.Context(), endpoint, "v1")
	if err != nil {
		t.Fatal(err)
	}
	exporter.Tell(told())
	ended, end := context.WithCancel(t.Context())
	end()
	if err := exporter.Start(ended); err != nil {
		t.Fatal(err)
	}
	type span struct {
		Name, Trace, ID, Parent, Error string
		Start, End                     uint64
		Attributes                     int
	}
	var got []span
	for range 2 {
		select {
		case s := <-r.spans:
			got = append(got, span{s.Name, hex.EncodeToString(s.TraceId), hex.EncodeToString(s.SpanId), hex.EncodeToString(s.ParentSpanId), s.GetStatus().GetMessage(),
				s.StartTimeUnixNano / 1e9, s.EndTimeUnixNano / 1e9, len(s.Attributes)})
		case <-time.After(10 * time.Second):
			t.Fatalf("no more spans than %v", got)
		}
	}
	id := "01020000000000000000000000000000"
	want := []span{
		{"running", id, "0400000000000000", "0300000000000000", "", 1_800_000_001, 1_800_000_060, 3},
		{"job", id, "0300000000000000", "", "FatalExit", 1_800_000_000, 1_800_000_060, 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A collector that accepts and never answers delays no caller, however many spans there are. The end waits 5 s for it at most, here 50 ms.
func TestACollectorThatHangsHoldsUpNobody(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	exporter, err := export.New(t.Context(), "http://"+listener.Addr().String(), "v1")
	if err != nil {
		t.Fatal(err)
	}
	const within = 50 * time.Millisecond
	if byDefault := exporter.EndWithin(within); byDefault != 5*time.Second {
		t.Errorf("the end may take %v", byDefault)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 10_000 { // the queue holds 2,048
			exporter.Tell(told())
		}
		ended, end := context.WithCancel(context.Background())
		end()
		asked := time.Now()
		_ = exporter.Start(ended)
		if waited := time.Since(asked); waited < within {
			t.Errorf("the end gives the collector %v of its %v", waited, within)
		}
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Error("it waits")
	}
}

func TestAnEndpointThatIsNoneIsRefused(t *testing.T) {
	for _, endpoint := range []string{"collector:4317", "grpc://collector:4317", "http://", "%"} {
		if _, err := export.New(t.Context(), endpoint, "v1"); err == nil {
			t.Errorf("%s is accepted", endpoint)
		}
	}
}
