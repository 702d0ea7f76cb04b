package testbed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Request is a line of the API server's audit log: a request that was answered.
type Request struct {
	Verb        string
	UserAgent   string
	User        struct{ Username string }
	Annotations map[string]string
	ObjectRef   struct{ Resource, Subresource, Namespace, Name string }
	// ImpersonatedUser is in whose name the user asks; empty if it is its own.
	ImpersonatedUser struct{ Username string }
	ResponseStatus   struct{ Code int }
	// Received is when the request came, Answered when the API server was done with it.
	Received time.Time `json:"requestReceivedTimestamp"`
	Answered time.Time `json:"stageTimestamp"`
}

// Kind returns what was asked for: "create pods/eviction".
func (r *Request) Kind() string {
	return r.Verb + " " + strings.TrimSuffix(r.ObjectRef.Resource+"/"+r.ObjectRef.Subresource, "/")
}

// String returns the request with its time and its answer.
func (r *Request) String() string {
	return fmt.Sprintf("%s %s %s/%s: %d", r.Received.Format("15:04:05.000"), r.Kind(), r.ObjectRef.Namespace, r.ObjectRef.Name, r.ResponseStatus.Code)
}

// Writes reports whether the request is to change something.
func (r *Request) Writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// WasRefused reports whether the request changed nothing. A 404 or 409 tells a writer that what it knows is out of date.
func (r *Request) WasRefused() bool { return r.ResponseStatus.Code >= 400 }

// WasDenied reports whether its sender has no right to what it asks for. What an admission plug-in refuses is no such thing.
func (r *Request) WasDenied() bool { return r.Annotations["authorization.k8s.io/decision"] == "forbid" }

// Requests returns the requests of the lab's audit log so far that count, of those whose line contains the text.
func (l *Lab) Requests(text string, counts func(*Request) bool) ([]*Request, error) {
	found, _, err := l.RequestsSince(0, text, counts)
	return found, err
}

// RequestsSince does what Requests does from an offset in the log on, and returns also the offset at which to go on. Offset 0 is the
// log's begin.
func (l *Lab) RequestsSince(offset int64, text string, counts func(*Request) bool) ([]*Request, int64, error) {
	file, err := os.Open(l.File("audit.log"))
	if err != nil {
		return nil, offset, fmt.Errorf("reading the audit log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, offset, fmt.Errorf("reading the audit log: %w", err)
	}
	var found []*Request
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // the last line may be half written
			return found, offset, nil
		}
		if err != nil {
			return nil, offset, fmt.Errorf("reading the audit log: %w", err)
		}
		offset += int64(len(line))
		r := &Request{}
		if bytes.Contains(line, []byte(text)) && json.Unmarshal(line, r) == nil && counts(r) {
			found = append(found, r)
		}
	}
}
