package docs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/trainingjob/operator/pkg/job/nodes"
)

// The page for administrators lists each signal that the operator acts on by itself, in the row of what is done about it.
func TestThePageForAdministratorsListsTheDefaultSignals(t *testing.T) {
	page, err := os.ReadFile("admins.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(string(page), "\n")
	for signal, action := range nodes.DefaultSignals() {
		name := signal.Name
		if name == "" {
			name = signal.String()
		}
		listed := false
		for _, row := range rows {
			isKind := strings.Contains(row, "| `"+string(signal.Kind)+"` |") || strings.Contains(row, "| `"+string(signal.Kind)+":")
			listed = listed || isKind && strings.Contains(row, name+"`") && strings.Contains(row, "| "+action.String()+" |")
		}
		if !listed {
			t.Errorf("%s=%s has no row", signal, action)
		}
	}
}
