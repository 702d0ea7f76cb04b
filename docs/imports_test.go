package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestThePictureOfTheHouseIsTheHouse: each package is drawn in its room, each arrow of architecture.md is an import, and each import is an
// arrow, or follows from several.
func TestThePictureOfTheHouseIsTheHouse(t *testing.T) {
	_, picture, _ := strings.Cut(read(t, "architecture.md"), "```mermaid\n")
	picture, _, _ = strings.Cut(picture, "```")
	arrows, drawnIn := readPicture(picture)
	imports, roomOf := houseImports(t)
	if !maps.Equal(drawnIn, roomOf) {
		t.Errorf("the picture has the packages and rooms\n%v, want\n%v", drawnIn, roomOf)
	}
	for from, all := range arrows {
		for _, to := range all {
			if !imports[from][to] {
				t.Errorf("%s does not import %s, as the picture says", from, to)
			}
		}
	}
	for from, all := range imports {
		for to := range all {
			if !leadsTo(arrows, from, to) {
				t.Errorf("%s imports %s, and the picture has no way from the one to the other", from, to)
			}
		}
	}
}

// readPicture returns the arrows of a flow chart, and the subgraph of each box: no name for those outside.
func readPicture(picture string) (arrows map[string][]string, rooms map[string]string) {
	arrows, rooms = map[string][]string{}, map[string]string{}
	box := regexp.MustCompile(`(\w+)\[[^\]]*\]`)
	arrow := regexp.MustCompile(`^ +(\w+) --> (\w+)`)
	room := ""
	for line := range strings.Lines(picture) {
		if name, begins := strings.CutPrefix(strings.TrimSpace(line), "subgraph "); begins {
			room = name
		} else if strings.TrimSpace(line) == "end" {
			room = ""
		}
		for _, name := range box.FindAllStringSubmatch(line, -1) {
			rooms[name[1]] = room
		}
		if found := arrow.FindStringSubmatch(box.ReplaceAllString(line, "$1")); found != nil {
			arrows[found[1]] = append(arrows[found[1]], found[2])
		}
	}
	return arrows, rooms
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

// houseImports returns which packages of the house import which, and the room of each, by the names of the picture.
func houseImports(t *testing.T) (imports map[string]map[string]bool, rooms map[string]string) {
	t.Helper()
	const module = "github.com/trainingjob/operator/"
	imports, rooms = map[string]map[string]bool{}, map[string]string{}
	for _, folder := range []string{"../cmd/operator", "../cmd/kubectl-tj", "../pkg", "../apis"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			room, from := place(strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../"))
			rooms[from] = room
			for _, i := range file.Imports {
				path, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module)
				if !ours || strings.HasPrefix(path, "manifests/") {
					continue
				}
				if imports[from] == nil {
					imports[from] = map[string]bool{}
				}
				if _, to := place(path); to != from {
					imports[from][to] = true
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return imports, rooms
}

// place returns the room of a package and what the picture calls it: pkg/job/gang/volcano is gang in pkg/job. What has no rooms is drawn
// whole: pkg/cli/story is cli, and cmd/kubectl-tj is kubectltj.
func place(path string) (room, name string) {
	parts := strings.Split(path, "/")
	switch {
	case parts[0] == "apis":
		return "", "apis"
	case parts[0] == "pkg" && slices.Contains([]string{"job", "operator", "kubeflow"}, parts[1]):
		return "pkg/" + parts[1], parts[2]
	default:
		return "", strings.ReplaceAll(parts[1], "-", "")
	}
}
