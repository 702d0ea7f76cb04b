package world

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/operator/progress"
)

// Reading are the stacks that the ranks serve.
type Reading struct {
	// After is how long the ranks take to answer. The read of a process that does not answer takes 2 s.
	After time.Duration
	// Pages are the pages of replicas that do not wait in a collective, by name. The process of an empty page does not answer.
	Pages map[string]string
}

// waiting is the page of a rank that waits in a collective.
const waiting = `{"threads": [{"name": "MainThread", "frames": [
	{"function": "main", "file": "/app/train.py", "line": 41},
	{"function": "all_reduce", "file": "/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py", "line": 2501}]}]}`

// Reads is the page of a rank that reads data.
const Reads = `{"threads": [{"name": "MainThread", "frames": [{"function": "read", "file": "/app/dataset.py", "line": 88}]}]}`

// StacksOf returns what a read of the stacks of a replica shows, and how long it takes.
func (w *World) StacksOf(replica string) (body []byte, after time.Duration, err error) {
	body, err = w.stacksOf(replica)
	if after = w.Reading.After; errors.Is(err, progress.ErrSilent) {
		after = 2 * time.Second
	}
	return body, after, err
}

func (w *World) stacksOf(replica string) ([]byte, error) {
	if w.Unreachable {
		return nil, fmt.Errorf("no connection within 2s")
	}
	for _, pod := range slices.Backward(w.Pods()) {
		if _, serves := serving(pod); !serves || pod.Labels[v1alpha1.LabelRole]+"-"+pod.Labels[v1alpha1.LabelIndex] != replica {
			continue
		}
		switch page, isOther := w.Reading.Pages[replica]; {
		case !isOther:
			return []byte(waiting), nil
		case page == "":
			return nil, progress.ErrSilent
		default:
			return []byte(page), nil
		}
	}
	return nil, fmt.Errorf("connection refused")
}
