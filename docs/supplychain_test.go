package docs_test

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestUpdatesCoverEveryModule: a module that no bot updates keeps its vulnerabilities until a person looks.
func TestUpdatesCoverEveryModule(t *testing.T) {
	var config struct {
		Updates []struct {
			Ecosystem   string   `json:"package-ecosystem"`
			Directories []string `json:"directories"`
		} `json:"updates"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "../.github/dependabot.yml")), &config); err != nil {
		t.Fatal(err)
	}
	var covered []string
	for _, update := range config.Updates {
		if update.Ecosystem == "gomod" {
			covered = append(covered, update.Directories...)
		}
	}
	modules := goModules(t)
	if len(modules) < 20 {
		t.Fatalf("%d modules, want at least 20: is the search wrong?", len(modules))
	}
	matches := func(module string) func(string) bool {
		return func(pattern string) bool { matched, _ := path.Match(pattern, module); return matched }
	}
	for _, module := range modules {
		if !slices.ContainsFunc(covered, matches(module)) {
			t.Errorf(".github/dependabot.yml has no directory for the module in %s", module)
		}
	}
	for _, pattern := range covered {
		if !slices.ContainsFunc(modules, func(module string) bool { return matches(module)(pattern) }) {
			t.Errorf(".github/dependabot.yml names %s, where there is no module", pattern)
		}
	}
}

// goModules returns the folders with a go.mod as dependabot writes them: "/", "/test/lab". bin holds what is built or downloaded.
func goModules(t *testing.T) []string {
	t.Helper()
	var modules []string
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"../bin", "../.git", "../.lab", "../dist", "../shared"}, filepath.ToSlash(file)):
			return fs.SkipDir
		case entry.Name() == "go.mod":
			modules = append(modules, "/"+strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), ".."), "/"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return modules
}

// TestWorkflowsPinTheirActions: a tag of an action can be moved to other code, a commit cannot. A workflow of this repository needs no pin.
func TestWorkflowsPinTheirActions(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d workflows, error %v: is the search wrong?", len(files), err)
	}
	pinned := regexp.MustCompile(`^(\./.*|\S+@[0-9a-f]{40} # v\d\S*)$`)
	for _, file := range files {
		for _, used := range regexp.MustCompile(`(?m)\buses: (.*)$`).FindAllStringSubmatch(read(t, file), -1) {
			if !pinned.MatchString(used[1]) {
				t.Errorf("%s uses %s: name the commit, with the version behind it", file, used[1])
			}
		}
	}
}

// TestARelease is published only after the tests of its commit, and the daily check accepts no known vulnerability.
func TestARelease(t *testing.T) {
	var release struct {
		Jobs map[string]struct {
			Needs string `json:"needs"`
			Uses  string `json:"uses"`
		} `json:"jobs"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "../.github/workflows/release.yml")), &release); err != nil {
		t.Fatal(err)
	}
	if first := release.Jobs["release"].Needs; release.Jobs[first].Uses != "./.github/workflows/ci.yml" {
		t.Errorf("the release needs the job %q, which uses %q and not the tests", first, release.Jobs[first].Uses)
	}
	if daily := read(t, "../.github/workflows/vulnerabilities.yml"); !strings.Contains(daily, "cron:") || !strings.Contains(daily, "make vulncheck BASE=\n") {
		t.Error("no daily check fails for what is known of main")
	}
}

// Releases are compiled with the newest patch of Go, not with the oldest version that compiles: the standard library is part of them.
func TestOneVersionOfGoBuildsAll(t *testing.T) {
	image := regexp.MustCompile(`(?m)^ARG GOLANG=golang:(\S+)$`).FindStringSubmatch(read(t, "../Dockerfile"))
	if image == nil {
		t.Fatal("the Dockerfile names no version of Go")
	}
	for _, module := range []string{"", "cmd/kueue-adapter/", ".ci/release/", ".ci/tools/"} {
		toolchain := regexp.MustCompile(`(?m)^toolchain go(\S+)$`).FindStringSubmatch(read(t, "../"+module+"go.mod"))
		if toolchain == nil || toolchain[1] != image[1] {
			t.Errorf("%sgo.mod has the toolchain %v, want %s as in the Dockerfile", module, toolchain, image[1])
		}
	}
}
