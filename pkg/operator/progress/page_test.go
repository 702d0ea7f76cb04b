package progress

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/pkg/job/state"
)

func TestParse(t *testing.T) {
	const report = "2026-01-05T12:00:25Z 0"
	for name, c := range map[string]struct {
		page string
		want state.Report
	}{
		"a time alone": {`{"time":"2026-01-05T12:00:25Z"}`, state.Report{ID: report}},
		"everything": {`{"time":"2026-01-05T13:00:25.5+01:00","step":1200,"checkpoint":"s3://ckpt/1200","metrics":{"loss":0.123456789,"lr":1e-5,"n":3},
			"savedFor":"3-1767614425","attempt":3,"life":3000001,"more":[1]}`, state.Report{
			Attempt: "3", Number: "3000001", ID: "2026-01-05T12:00:25.5Z 1200", Step: 1200, Checkpoint: "s3://ckpt/1200", SavedFor: "3-1767614425",
			Metrics: map[string]string{"loss": "0.123457", "lr": "1e-05", "n": "3"},
		}},
		"null for what is not known": {`{"time":"2026-01-05T12:00:25Z","step":null,"checkpoint":null,"metrics":null,"attempt":null}`, state.Report{ID: report}},
		"a checkpoint of many lines": {`{"time":"2026-01-05T12:00:25Z","checkpoint":"a\nb\u202e"}`, state.Report{ID: report, Checkpoint: "a b"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(c.page))
			if diff := cmp.Diff(c.want, got, cmp.Comparer(time.Time.Equal)); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	const time = `"time":"2026-01-05T12:00:25Z"`
	eight := ""
	for i := range 8 {
		eight += fmt.Sprintf(`"m%d":1,`, i)
	}
	if _, err := Parse([]byte(`{` + time + `,"metrics":{` + strings.TrimSuffix(eight, ",") + `,"` + strings.Repeat("x", 63)[1:] + `":1}}`)); err == nil {
		t.Error("nine metrics are taken")
	}
	for page, want := range map[string]string{
		``: "serve {", `[]`: "serve {", `"x"`: "serve {", `{`: "serve {", "\x00": "serve {", `{` + time + `}x`: "serve {",
		`<html>`:                                                         "serve {",
		`{"step":1}`:                                                     `serve "time" as`,
		`{"time":"now"}`:                                                 "serve {",
		`{` + time + `,"step":1.5}`:                                      "step as a whole number",
		`{` + time + `,"step":"7"}`:                                      "step as a whole number",
		`{` + time + `,"step":-1}`:                                       "below 0",
		`{` + time + `,"step":9223372036854775808}`:                      "step as a whole number",
		`{` + time + `,"metrics":{"loss":NaN}}`:                          "serve {",
		`{` + time + `,"metrics":{"loss":Infinity}}`:                     "serve {",
		`{` + time + `,"metrics":{"loss":1e999}}`:                        "finite numbers",
		`{` + time + `,"metrics":{"loss":"low"}}`:                        "finite numbers",
		`{` + time + `,"metrics":{"":1}}`:                                "name of a metric",
		`{` + time + `,"metrics":{"a\nb":1}}`:                            "name of a metric",
		`{` + time + `,"metrics":{"` + strings.Repeat("x", 64) + `":1}}`: "name of a metric",
		`{` + time + `,"metrics":{` + eight + `"m8":1}}`:                 "at most 8",
		strings.Repeat("[", 8000) + strings.Repeat("]", 8000):            "serve {",
	} {
		if _, err := Parse([]byte(page)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: error %v, want one with %q", page, err, want)
		}
	}
}

// No page makes the operator panic, or puts more into a status than it can hold.
func FuzzParse(f *testing.F) {
	f.Add(`{"time":"2026-01-05T12:00:25Z","step":1,"checkpoint":"c","metrics":{"loss":0.1},"savedFor":"0-1","attempt":0,"life":7}`)
	f.Add(`{"time":"9999-12-31T23:59:59Z","metrics":{"` + strings.Repeat("x", 63) + `":-1e308}}`)
	f.Fuzz(func(t *testing.T, body string) {
		said, err := Parse([]byte(body))
		if err != nil {
			if text := err.Error(); len(text) > 300 || !utf8.ValidString(text) {
				t.Errorf("the error is %q", text)
			}
			return
		}
		if len(said.Metrics) > 8 || len(said.Checkpoint) > 1024 || len(said.SavedFor) > 1024 || said.Step < 0 || said.ID == "" {
			t.Errorf("it says %+v", said)
		}
		for name, value := range said.Metrics {
			if len(name) > 63 || len(value) > 24 || strings.ContainsAny(name, "\n\x1b") {
				t.Errorf("the metric %q is %q", name, value)
			}
		}
	})
}
