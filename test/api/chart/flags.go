// Package chart holds values.schema.json of the Helm chart to the flags of the programs that the chart runs.
package chart

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// duration is what time.ParseDuration reads, but for a sign.
const duration = `^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`

// CheckFlags fails unless the schema of the chart has just these flags as the values program.flags, each with its type and with what its
// help says. With update it writes them into the schema.
func CheckFlags(t *testing.T, schema, program string, flags *pflag.FlagSet, update bool) {
	t.Helper()
	text, err := os.ReadFile(schema)
	if err != nil {
		t.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	of := properties(t, properties(t, whole, program), "flags")
	want := map[string]any{}
	flags.VisitAll(func(f *pflag.Flag) { want[f.Name] = value(t, f) })
	if update {
		of["properties"] = want
		write(t, schema, whole)
		return
	}
	if diff := cmp.Diff(want, of["properties"]); diff != "" {
		t.Errorf("%s does not have the flags of %s, run this test with -update (-want +got):\n%s", schema, program, diff)
	}
}

// properties returns the schema of a property.
func properties(t *testing.T, schema map[string]any, name string) map[string]any {
	t.Helper()
	all, _ := schema["properties"].(map[string]any)
	one, isThere := all[name].(map[string]any)
	if !isThere {
		t.Fatalf("the schema has no property %s", name)
	}
	return one
}

// value returns the schema of a flag's value. null leaves the flag to its default.
func value(t *testing.T, f *pflag.Flag) map[string]any {
	t.Helper()
	schema := map[string]any{"description": f.Usage + " (default " + f.DefValue + ")"}
	switch f.Value.Type() {
	case "string":
		schema["type"] = []any{"string", "null"}
	case "duration":
		schema["type"], schema["pattern"] = []any{"string", "null"}, duration
	case "bool":
		schema["type"] = []any{"boolean", "null"}
	case "int":
		schema["type"] = []any{"integer", "null"}
	case "float32", "float64":
		schema["type"] = []any{"number", "null"}
	case "stringSlice":
		schema["type"], schema["items"] = []any{"array", "null"}, map[string]any{"type": "string"}
	default:
		t.Fatalf("--%s is a %s: write here what type its value has", f.Name, f.Value.Type())
	}
	if f.DefValue == "" {
		schema["description"] = strings.TrimSuffix(f.Usage, ".")
	}
	return schema
}

func write(t *testing.T, path string, schema map[string]any) {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(schema); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
