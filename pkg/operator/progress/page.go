package progress

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/trainingjob/operator/pkg/job/state"
)

const (
	// maxMetrics is how many metrics a report has at most.
	maxMetrics = 8
	// maxMetricName is the longest name of a metric, in bytes.
	maxMetricName = 63
)

// page is the JSON of a report: {"time": "2026-01-05T12:00:25Z", "step": 1200, "checkpoint": "s3://ckpt/1200", "metrics": {"loss": 0.3}}.
type page struct {
	// Time is when the training reported.
	Time time.Time `json:"time"`
	// Step is the training's step, a whole number.
	Step int64 `json:"step"`
	// Checkpoint names the latest checkpoint.
	Checkpoint string `json:"checkpoint"`
	// Metrics are numbers by name.
	Metrics map[string]float64 `json:"metrics"`
	// SavedFor is the id of the checkpoint request that the checkpoint answers.
	SavedFor string `json:"savedFor"`
	// Attempt and Life are the TRAININGJOB_ATTEMPT and TRAININGJOB_LIFE of the process.
	Attempt *int64 `json:"attempt"`
	Life    *int64 `json:"life"`
}

// Parse returns the report of a page. It returns an error, which shows what to serve instead, if a field is missing, too long or of another
// type.
func Parse(body []byte) (state.Report, error) {
	var p page
	if err := json.Unmarshal(body, &p); err != nil {
		return state.Report{}, describe(err)
	}
	switch {
	case p.Time.IsZero():
		return state.Report{}, errors.New(`the page has no time: serve "time" as 2026-01-05T12:00:25Z`)
	case p.Step < 0:
		return state.Report{}, fmt.Errorf("the step %d is below 0: serve a step that grows from 0", p.Step)
	case len(p.Metrics) > maxMetrics:
		return state.Report{}, fmt.Errorf("the page has %d metrics: serve at most %d", len(p.Metrics), maxMetrics)
	}
	metrics, err := texts(p.Metrics)
	if err != nil {
		return state.Report{}, err
	}
	return state.Report{
		Step: p.Step, ID: fmt.Sprintf("%s %d", p.Time.UTC().Format(time.RFC3339Nano), p.Step), Metrics: metrics, Attempt: text(p.Attempt), Number: text(p.Life),
		Checkpoint: state.Printable(state.Cut(p.Checkpoint, state.MaxWords)), SavedFor: state.Cut(p.SavedFor, state.MaxWords),
	}, nil
}

func describe(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Errorf("%q of the page is a JSON %s: serve step as a whole number, metrics as finite numbers by name", wrong.Field, wrong.Value)
	}
	return errors.New(`the page is not the JSON object of a report: serve {"time": "2026-01-05T12:00:25Z", "step": 1200}`)
}

// texts returns the metrics as the status shows them. JSON has no number that is not finite.
func texts(metrics map[string]float64) (map[string]string, error) {
	var list map[string]string
	for name, value := range metrics {
		if name == "" || len(name) > maxMetricName || name != state.Printable(name) {
			return nil, fmt.Errorf("the name of a metric is empty, longer than %d bytes, or not printable", maxMetricName)
		}
		if list == nil {
			list = map[string]string{}
		}
		list[name] = strconv.FormatFloat(value, 'g', 6, 64)
	}
	return list, nil
}

func text(number *int64) string {
	if number == nil {
		return ""
	}
	return strconv.FormatInt(*number, 10)
}
