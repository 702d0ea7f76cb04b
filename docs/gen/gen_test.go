package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachGroupOfConstantsBecomesATable(t *testing.T) {
	const source = `package v1alpha1

// The condition types. Each is absent at first.
const (
	// ConditionCreated is True once the operator
	// has taken the job on.
	ConditionCreated = "Created"
)

// Reasons of Created.
const (
	// ReasonJobCreated: the operator has taken the job on.
	ReasonJobCreated = "JobCreated"
)
`
	const page = `# API reference

| windowSeconds | counts up to 3.1536e+07, as 1e+06 | Maximum 3.1536e+07 Minimum 60 |

`
	const want = `# API reference

| windowSeconds | counts up to 31536000, as 1000000 | Maximum 31536000 Minimum 60 |

## The condition types

Each is absent at first.

| Value | |
| --- | --- |
| ` + "`Created`" + ` | is True once the operator has taken the job on. |

## Reasons of Created

| Value | |
| --- | --- |
| ` + "`JobCreated`" + ` | the operator has taken the job on. |
`
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"in.md": page, "conditions.go": source} {
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := generate(path("in.md"), path("conditions.go"), path("out.md")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path("out.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the reference (-want +got):\n%s", diff)
	}
}
