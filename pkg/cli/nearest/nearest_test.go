package nearest_test

import (
	"testing"

	"github.com/trainingjob/operator/pkg/cli/nearest"
)

func TestTheNameThatAMisspeltOneMeans(t *testing.T) {
	names := []string{"list", "os", "restart", "why", "volumes"}
	for name, want := range map[string]string{
		"lsit": "list", "lits": "list", "wy": "why", "hwy": "why", "resart": "restart", "volume": "volumes",
		"foo": "", "x": "", "of": "",
	} {
		if got := nearest.Name(name, names); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
