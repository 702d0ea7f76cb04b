package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// The names of spans.
const (
	Job        = "job"
	Queued     = "queued"
	Scheduling = "scheduling"
	Starting   = "starting"
	Running    = "running"
	Recovering = "recovering"
	Detecting  = "detecting"
)

// Span is a time in the life of a job that is over.
type Span struct {
	Trace [16]byte
	ID    [8]byte
	// Parent is the span that it is a part of; zero of the job itself.
	Parent     [8]byte
	Name       string
	Start, End time.Time
	Attributes []Attribute
	// Error is the error of the span; empty without one.
	Error string
}

// Attribute is one fact about a span: a string, an int64 or a bool.
type Attribute struct {
	Key   string
	Value any
}

// traceOf returns the id of a job's trace: its UID, which has 128 bits.
func traceOf(uid types.UID) (id [16]byte) {
	if bits, err := hex.DecodeString(strings.ReplaceAll(string(uid), "-", "")); err == nil && len(bits) == len(id) {
		return [16]byte(bits)
	}
	sum := sha256.Sum256([]byte(uid))
	return [16]byte(sum[:16])
}

// cutter cuts the spans of one job.
type cutter struct{ job *v1alpha1.TrainingJob }

// id returns the id of a span. The two times distinguish spans that begin in the same second, and failures of a node that was unhealthy
// all along.
func (c cutter) id(attempt int32, slot, name string, from, to metav1.Time) [8]byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s/%s/%d/%d", c.job.UID, attempt, slot, name, from.Unix(), to.Unix()))
	return [8]byte(sum[:8])
}

// root returns the id of the span of the whole job.
func (c cutter) root() [8]byte {
	return c.id(0, "", Job, c.job.CreationTimestamp, c.job.CreationTimestamp)
}

// span returns a span of an attempt, which is a part of the job.
func (c cutter) span(name string, attempt int32, from, to metav1.Time) Span {
	if to.Before(&from) { // clocks differ
		to = from
	}
	return Span{
		Trace: traceOf(c.job.UID), ID: c.id(attempt, "", name, from, to), Parent: c.root(), Name: name, Start: from.Time, End: to.Time,
		Attributes: []Attribute{{"trainingjob.attempt", int64(attempt)}},
	}
}

// of returns the attributes that say which job it is.
func (c cutter) of() []Attribute {
	return []Attribute{
		{"k8s.namespace.name", c.job.Namespace}, {"trainingjob.name", c.job.Name}, {"trainingjob.uid", string(c.job.UID)},
		{"trainingjob.framework", string(c.job.Spec.Framework)},
	}
}
