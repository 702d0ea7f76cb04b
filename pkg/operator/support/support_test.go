package support

import (
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

func TestWarning(t *testing.T) {
	for gitVersion, want := range map[string]string{
		"v1.33.9":           "older than 1.34",
		"v1.9.0":            "older than 1.34",
		"v1.34.0":           "",
		"v1.34.2-gke.100":   "",
		"v1.36.3+k3s1":      "",
		"v1.37.1":           "",
		"v1.38.0-alpha.1":   "newer than 1.37",
		"v2.0.0":            "newer than 1.37",
		"":                  "cannot be read",
		"the newest, sure?": "cannot be read",
	} {
		got := Warning(gitVersion)
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want something with %q", gitVersion, got, want)
		}
	}
}

// The modules below test/api/versions and the module of the lab are what make test-versions runs.
func TestTheBoundsAreThoseOfTheTests(t *testing.T) {
	entries, err := os.ReadDir("../../../test/api/versions")
	if err != nil {
		t.Fatal(err)
	}
	tested := []*version.Version{labVersion(t)}
	for _, e := range entries {
		if e.IsDir() {
			tested = append(tested, version.MustParseGeneric(e.Name()))
		}
	}
	slices.SortFunc(tested, func(a, b *version.Version) int {
		if a.LessThan(b) {
			return -1
		}
		return 1
	})
	oldest, newest := tested[0], tested[len(tested)-1]
	if got, want := []string{oldest.String(), newest.String()}, []string{version.MustParseGeneric(Oldest).String(), version.MustParseGeneric(Newest).String()}; !slices.Equal(got, want) {
		t.Errorf("make test-versions tests from %s to %s, and this package says from %s to %s", got[0], got[1], want[0], want[1])
	}
}

// labVersion returns the minor version of Kubernetes that the lab is made of.
func labVersion(t *testing.T) *version.Version {
	t.Helper()
	text, err := os.ReadFile("../../../test/lab/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == "k8s.io/kubernetes" {
			found := version.MustParseGeneric(words[1])
			return version.MajorMinor(found.Major(), found.Minor())
		}
	}
	t.Fatal("test/lab/go.mod does not name k8s.io/kubernetes")
	return nil
}
