// Package export sends the spans of jobs by OTLP, with the SDK of OpenTelemetry.
package export

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/trainingjob/operator/pkg/trace"
)

// endWithin is how long the exporter may send the remaining spans when the operator ends.
const endWithin = 5 * time.Second

// Exporter sends spans. It drops spans that it cannot send in time, and delays no caller.
type Exporter struct {
	provider *sdktrace.TracerProvider
	tracer   oteltrace.Tracer
	// endWithin is the constant of this name, except in a test.
	endWithin time.Duration
}

// Check returns an error if the endpoint is not one that New takes.
func Check(endpoint string) error {
	if at, err := url.Parse(endpoint); err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return errors.New("write http://HOST:4317, or https:// for one with TLS: a collector that takes OTLP by gRPC")
	}
	return nil
}

// New returns an exporter to a collector that takes OTLP by gRPC, "http://collector:4317". It does not wait for the collector. The
// environment variables of OpenTelemetry (OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_CERTIFICATE, OTEL_BSP_...) are heeded.
func New(ctx context.Context, endpoint, version string) (*Exporter, error) {
	if err := Check(endpoint); err != nil {
		return nil, err
	}
	client, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(endpoint))
	if err != nil {
		return nil, fmt.Errorf("preparing to send traces to %s: %w", endpoint, err)
	}
	operator := resource.NewSchemaless(attribute.String("service.name", "trainingjob-operator"), attribute.String("service.version", version))
	provider := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(givenIDs{}), sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithResource(operator), sdktrace.WithBatcher(client))
	return &Exporter{provider: provider, tracer: provider.Tracer("github.com/trainingjob/operator"), endWithin: endWithin}, nil
}

// Tell queues the spans for sending. It does not wait, and drops them if too many are waiting already.
func (e *Exporter) Tell(spans []trace.Span) {
	for i := range spans {
		e.tell(&spans[i])
	}
}

func (e *Exporter) tell(span *trace.Span) {
	ctx := context.WithValue(context.Background(), idsOf{}, span)
	if span.Parent != [8]byte{} {
		ctx = oteltrace.ContextWithRemoteSpanContext(ctx, oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
			TraceID: span.Trace, SpanID: span.Parent, TraceFlags: oteltrace.FlagsSampled, Remote: true,
		}))
	}
	_, out := e.tracer.Start(ctx, span.Name, oteltrace.WithTimestamp(span.Start), oteltrace.WithAttributes(attributes(span.Attributes)...))
	if span.Error != "" {
		out.SetStatus(codes.Error, span.Error)
	}
	out.End(oteltrace.WithTimestamp(span.End))
}

// Start sends spans until the context ends, and then the remaining spans. It implements manager.Runnable.
func (e *Exporter) Start(ctx context.Context) error {
	<-ctx.Done()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.endWithin)
	defer cancel()
	_ = e.provider.Shutdown(last) // a collector that does not answer is no reason to fail
	return nil
}

func attributes(list []trace.Attribute) []attribute.KeyValue {
	var all []attribute.KeyValue
	for _, a := range list {
		switch value := a.Value.(type) {
		case string:
			all = append(all, attribute.String(a.Key, value))
		case int64:
			all = append(all, attribute.Int64(a.Key, value))
		case bool:
			all = append(all, attribute.Bool(a.Key, value))
		}
	}
	return all
}

// idsOf is the key of the span in a context.
type idsOf struct{}

// givenIDs gives spans the ids that they have already.
type givenIDs struct{}

// NewIDs implements sdktrace.IDGenerator.
func (givenIDs) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	span := ctx.Value(idsOf{}).(*trace.Span)
	return span.Trace, span.ID
}

// NewSpanID implements sdktrace.IDGenerator.
func (givenIDs) NewSpanID(ctx context.Context, _ oteltrace.TraceID) oteltrace.SpanID {
	return ctx.Value(idsOf{}).(*trace.Span).ID
}
