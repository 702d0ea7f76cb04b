// Command licenses holds the licences of the modules that go into programs against an allow-list.
//
//	licenses PACKAGE...    in the folder of the programs' module
//
// It prints a line for each module, and fails if one has no licence file, a text that is no known licence, or a licence that is not allowed.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licences under which a binary may be given on together with the operator's own, Apache-2.0: those that ask for no
// more than that notices are kept, and MPL-2.0, which asks for the source of its own files if they are changed, which they are not.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unlicense", "CC0-1.0", "Zlib"}

// notices are texts beside a licence that licensecheck knows by names of their own, and that ask for nothing more.
var notices = regexp.MustCompile(`(?i)^(GooglePatentClause|GooglePatentsFile|BSD-3-Clause-.*|CC-BY-4\.0|AFL-2\.[01])$`)

// licenceFile is how files are called that hold a licence.
var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)([._-].*)?$`)

// leastKnown is how much of a file must be the text of known licences, in percent: copyright lines and headings are not.
const leastKnown = 70

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "licenses: which programs? write their packages, as ./cmd/operator")
		os.Exit(2)
	}
	if err := check(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

// module is a module of which a program has a package.
type module struct{ path, version, dir string }

func check(packages []string) error {
	modules, err := modulesOf(packages)
	if err != nil {
		return err
	}
	var wrong []error
	for _, m := range modules {
		found, err := licencesIn(m.dir)
		if err == nil {
			err = judge(found)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s %s: %w", m.path, m.version, err))
			continue
		}
		fmt.Printf("%-28s %s %s\n", strings.Join(found, ", "), m.path, m.version)
	}
	fmt.Printf("%d modules, %d with a licence that is not allowed\n", len(modules), len(wrong))
	return errors.Join(wrong...)
}

// modulesOf returns the modules of which the packages need any, without the one that they are in.
func modulesOf(packages []string) ([]module, error) {
	const format = `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{with .Replace}}{{.Dir}}{{else}}{{.Dir}}{{end}}{{end}}{{end}}`
	command := exec.Command("go", append([]string{"list", "-deps", "-f", format}, packages...)...) //#nosec G204 -- the caller's own packages
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("listing the modules of %s: %w", strings.Join(packages, " "), err)
	}
	var all []module
	for line := range strings.Lines(out.String()) {
		if words := strings.Fields(line); len(words) == 3 {
			all = append(all, module{words[0], words[1], words[2]})
		} else if len(words) > 0 {
			return nil, fmt.Errorf("the module of %q is not downloaded: go mod download", line)
		}
	}
	slices.SortFunc(all, func(a, b module) int { return strings.Compare(a.path, b.path) })
	all = slices.Compact(all)
	if len(all) == 0 {
		return nil, fmt.Errorf("%s need no module: is this the folder of their module?", strings.Join(packages, " "))
	}
	return all, nil
}

// licencesIn returns the names of the licences in the folder's files, sorted, or an error if there are none.
func licencesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		ofDocs := strings.HasSuffix(e.Name(), ".docs") // documents are in no binary
		if e.IsDir() || ofDocs || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		found := licensecheck.Scan(text)
		if found.Percent < leastKnown {
			return nil, fmt.Errorf("%.0f %% of %s is a known licence: read it, and say here what it is", found.Percent, e.Name())
		}
		for _, m := range found.Match {
			names = append(names, m.ID)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("it has no licence file")
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// judge returns an error if one of the licences is not allowed.
func judge(found []string) error {
	for _, name := range found {
		if !slices.Contains(allowed, name) && !notices.MatchString(name) {
			return fmt.Errorf("its licence %s is not allowed: do without it, or have the list of .ci/trust/licenses changed", name)
		}
	}
	return nil
}
