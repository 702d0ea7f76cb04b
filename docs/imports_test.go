package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThePictureOfTheHouseIsTheHouse: each arrow of architecture.md is an import, and each import between what is drawn is an arrow, or
// follows from several.
func TestThePictureOfTheHouseIsTheHouse(t *testing.T) {
	drawn := map[string][]string{}
	for _, arrow := range regexp.MustCompile(`(?m)^  (\w+)(?:\[[^\]]*\])? --> (\w+)`).FindAllStringSubmatch(read(t, "architecture.md"), -1) {
		drawn[arrow[1]] = append(drawn[arrow[1]], arrow[2])
	}
	if len(drawn) < 10 {
		t.Fatalf("%d packages have arrows, want at least 10: is the search wrong?", len(drawn))
	}
	imports := houseImports(t)
	for from, all := range drawn {
		for _, to := range all {
			if !imports[from][to] {
				t.Errorf("%s does not import %s, as the picture says", from, to)
			}
		}
	}
	for from, all := range imports {
		for to := range all {
			if isDrawn(drawn, from) && isDrawn(drawn, to) && !leadsTo(drawn, from, to) {
				t.Errorf("%s imports %s, and the picture has no way from the one to the other", from, to)
			}
		}
	}
}

func isDrawn(drawn map[string][]string, name string) bool {
	return leadsTo(drawn, "operator", name) || leadsTo(drawn, "kubectltj", name)
}

// leadsTo reports whether the arrows lead from one to the other; each leads to itself.
func leadsTo(arrows map[string][]string, from, to string) bool {
	if from == to {
		return true
	}
	for _, next := range arrows[from] {
		if leadsTo(arrows, next, to) {
			return true
		}
	}
	return false
}

// houseImports returns which packages of the house import which, by the name of their folder below pkg or cmd; those within one count as it.
func houseImports(t *testing.T) map[string]map[string]bool {
	t.Helper()
	const module = "github.com/trainingjob/operator/"
	imports := map[string]map[string]bool{}
	for _, folder := range []string{"../cmd/operator", "../cmd/kubectl-tj", "../pkg", "../apis"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			from := room(strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../"))
			for _, i := range file.Imports {
				if to, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module); ours && room(to) != from {
					if imports[from] == nil {
						imports[from] = map[string]bool{}
					}
					imports[from][room(to)] = true
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return imports
}

// room returns what the picture calls a package: cmd/kubectl-tj is kubectltj, pkg/cli/story is cli.
func room(path string) string {
	parts := strings.Split(path, "/")
	if parts[0] == "pkg" || parts[0] == "cmd" {
		return strings.ReplaceAll(parts[1], "-", "")
	}
	return parts[0]
}
