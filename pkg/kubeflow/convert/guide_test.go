package convert_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// docs/migrating.md has each field of the former kinds but those of pod templates and of autoscalers' metrics.
func TestTheGuideNamesEveryField(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for i, part := range strings.Split(string(guide), "`") {
		if i%2 == 1 { // between two back quotes
			for _, word := range strings.FieldsFunc(part, func(r rune) bool { return !unicode.IsLetter(r) }) {
				named[word] = true
			}
		}
	}
	fields := map[string]bool{}
	for _, c := range crds {
		whole, err := c.module.Schema(t.Context(), c.file, c.version)
		if err != nil {
			t.Fatal(err)
		}
		for _, leaf := range leavesOf(property(whole, "spec"), nil) {
			for _, name := range leaf.path {
				if name == "Worker" || name == "[0]" { // a key, an index
					continue
				}
				fields[name] = true
				if name == "template" || name == "metrics" || name == "rdzvConf" {
					break
				}
			}
		}
	}
	if len(fields) < 35 {
		t.Fatalf("%d fields, want at least 35: is the search wrong?", len(fields))
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !named[name] {
			t.Errorf("the guide does not name %s", name)
		}
	}
}
