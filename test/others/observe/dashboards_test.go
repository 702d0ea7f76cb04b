package observe

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"testing"
)

// dashboard is what the tests look at of a dashboard of Grafana.
type dashboard struct {
	UID, Title string
	Panels     []panel
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

type panel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct {
		Expr, RefID string
	}
}

// overlaps reports whether the panels share a place on the grid.
func (p panel) overlaps(o panel) bool {
	a, b := p.GridPos, o.GridPos
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

var variable = regexp.MustCompile(`\$\{?([a-z][a-z_]*)`)

func TestDashboards(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(component, "dashboards", "*.json"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%d dashboards, want 2: %v", len(files), err)
	}
	known := series(t)
	uids := map[string]bool{}
	for _, file := range files {
		name := filepath.Base(file)
		var d dashboard
		if err := json.Unmarshal(read(t, "dashboards", name), &d); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.UID == "" || d.Title == "" || uids[d.UID] || len(d.Panels) < 15 {
			t.Errorf("%s: uid %q, title %q, %d panels", name, d.UID, d.Title, len(d.Panels))
		}
		uids[d.UID] = true
		checkPanels(t, name, &d, known)
	}
}

func checkPanels(t *testing.T, name string, d *dashboard, known map[string][]string) {
	t.Helper()
	variables := map[string]bool{}
	for _, v := range d.Templating.List {
		variables[v.Name] = true
		if source := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`).FindStringSubmatch(v.Definition); v.Type == "query" {
			if source == nil {
				t.Errorf("%s: variable %s is of %q", name, v.Name, v.Definition)
				continue
			}
			for _, wrong := range check("sum by ("+source[2]+") ("+source[1]+")", known) {
				t.Errorf("%s: variable %s: %s", name, v.Name, wrong)
			}
		}
	}
	for i, p := range d.Panels {
		for _, o := range d.Panels[:i] {
			if p.ID == o.ID || p.overlaps(o) {
				t.Errorf("%s: panels %d %q and %d %q have one id, or overlap", name, p.ID, p.Title, o.ID, o.Title)
			}
		}
		if p.GridPos.X+p.GridPos.W > 24 || p.Title == "" || (p.Type != "row") != (len(p.Targets) > 0) {
			t.Errorf("%s: panel %d %q: at %v, %d targets", name, p.ID, p.Title, p.GridPos, len(p.Targets))
		}
		for _, target := range p.Targets {
			for _, wrong := range check(target.Expr, known) {
				if !isRecorded(t, target.Expr) {
					t.Errorf("%s: %q: %s: %s", name, p.Title, target.Expr, wrong)
				}
			}
			for _, used := range variable.FindAllStringSubmatch(target.Expr, -1) {
				if !variables[used[1]] {
					t.Errorf("%s: %q: there is no variable %s", name, p.Title, used[1])
				}
			}
		}
	}
}
