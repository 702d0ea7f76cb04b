package convert

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Effect is what became of a value of the source.
type Effect string

// The effects.
const (
	// Dropped is what the TrainingJob has no counterpart of.
	Dropped Effect = "Dropped"
	// Changed is what has another meaning or another value in the TrainingJob.
	Changed Effect = "Changed"
	// Added is a default of the source that is not a TrainingJob's and was written out.
	Added Effect = "Added"
	// Kept is a document that is no job of Kubeflow's, passed on as it is.
	Kept Effect = "Kept"
)

// Note describes the change of one value of the source.
type Note struct {
	// Object is whose value it is: "PyTorchJob default/mnist".
	Object string `json:"object"`
	// Effect is what became of it.
	Effect Effect `json:"effect"`
	// Path of the value in the source: "spec.runPolicy.backoffLimit".
	Path string `json:"path,omitempty"`
	// Value in the source, as JSON, cut if it is long. Empty if the source does not say it.
	Value string `json:"value,omitempty"`
	// Advice is what that means and what to do.
	Advice string `json:"advice"`
}

// Report is the list of changes, object by object.
type Report struct {
	// Jobs is the number of jobs converted.
	Jobs int `json:"jobs"`
	// Notes of all objects, in the order of the documents.
	Notes []Note `json:"notes"`
}

// String returns the report for people: the objects, and under each its notes.
func (r Report) String() string {
	var text strings.Builder
	object := ""
	for _, n := range r.Notes {
		if n.Object != object {
			object = n.Object
			fmt.Fprintf(&text, "%s\n", object)
		}
		what := n.Path
		if n.Value != "" {
			what += ": " + n.Value
		}
		if what == "" {
			fmt.Fprintf(&text, "  %-8s %s\n", n.Effect, n.Advice)
			continue
		}
		fmt.Fprintf(&text, "  %-8s %s\n           %s\n", n.Effect, what, n.Advice)
	}
	return text.String()
}

// longestValue is how much of a value a note shows.
const longestValue = 120

// shown returns a value as a note shows it.
func shown(value any) string {
	if value == nil {
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if runes := []rune(string(text)); len(runes) > longestValue {
		return string(runes[:longestValue]) + "..."
	}
	return string(text)
}
