// Size compares the lines of each package of pkg with its budget, and counts the files of the core that each feature touches.
//
//	go -C .ci/size run . ../..                  compare with budgets.txt; exit 1 if a package or the core is above its budget
//	go -C .ci/size run . -features ../..        the core files of each feature of features.txt
//	go -C .ci/size run . -features ../.. gangs  the same for the features whose names contain a word, with the files
//
// The core is what decides about a job and acts on it. Lines are those of Go files without tests, comments included. docs/scope.md says how a
// budget is raised.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	features := flag.Bool("features", false, "count the core files of each feature")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "which repository? Write: go -C .ci/size run . ../..")
		os.Exit(2)
	}
	if err := run(os.DirFS(flag.Arg(0)), *features, flag.Args()[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root fs.FS, features bool, words []string) error {
	files, err := sources(root)
	if err != nil {
		return fmt.Errorf("reading pkg: %w", err)
	}
	table, err := readTable(root, ".ci/size/budgets.txt")
	if err != nil {
		return err
	}
	budgets, err := parseBudgets(table)
	if err != nil {
		return err
	}
	if features {
		return printFeatures(root, coreFiles(files, budgets), words)
	}
	report, wrong := compare(files, budgets)
	fmt.Println(report)
	if len(wrong) > 0 {
		return fmt.Errorf("%s\nDelete what the change makes superfluous. To raise a budget, add a row to docs/decisions.md: which user, which figure, what was deleted for it",
			strings.Join(wrong, "\n"))
	}
	return nil
}

// sources returns the text of each Go file below pkg that is no test.
func sources(root fs.FS) (map[string]string, error) {
	files := map[string]string{}
	err := fs.WalkDir(root, "pkg", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, name)
		files[name] = string(text)
		return err
	})
	return files, err
}

// row is a line of a table: a name, and its value.
type row struct{ name, value string }

// readTable reads lines such as "pkg/job/state 2700". It skips comments, which begin with #.
func readTable(root fs.FS, name string) ([]row, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	var table []row
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, _ := strings.Cut(line, "\t")
		table = append(table, row{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
	return table, nil
}

// budget is the most lines that a package may have.
type budget struct {
	lines  int
	isCore bool
}

// core and all are the rows of sums.
const core, all = "core", "pkg"

func parseBudgets(table []row) (map[string]budget, error) {
	budgets := map[string]budget{}
	for _, r := range table {
		value, isCore := strings.CutSuffix(r.value, "core")
		lines, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("budgets.txt: %s: %w: write a name, a tab and a number of lines", r.name, err)
		}
		budgets[r.name] = budget{lines, isCore}
	}
	return budgets, nil
}

// compare returns a line for each package, and a sentence for each that is above its budget or has none.
func compare(files map[string]string, budgets map[string]budget) (report string, wrong []string) {
	lines := map[string]int{}
	for name, text := range files {
		dir, n := path.Dir(name), strings.Count(text, "\n")
		lines[dir] += n
		lines[all] += n
		if budgets[dir].isCore {
			lines[core] += n
		}
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		b, has := budgets[name]
		fmt.Fprintf(&text, "%-28s %6d of %6d lines\n", name, lines[name], b.lines)
		switch {
		case !has:
			wrong = append(wrong, fmt.Sprintf("%s has %d lines and no budget", name, lines[name]))
		case lines[name] > b.lines:
			wrong = append(wrong, fmt.Sprintf("%s has %d lines, and its budget is %d", name, lines[name], b.lines))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(budgets)) {
		if _, exists := lines[name]; !exists {
			wrong = append(wrong, name+" has a budget and no code: delete its row")
		}
	}
	return strings.TrimSuffix(text.String(), "\n"), wrong
}

func coreFiles(files map[string]string, budgets map[string]budget) map[string]string {
	maps.DeleteFunc(files, func(name, _ string) bool { return !budgets[path.Dir(name)].isCore })
	return files
}

// printFeatures prints how many files of the core have a word of each feature. With words it prints the files, too.
func printFeatures(root fs.FS, files map[string]string, words []string) error {
	table, err := readTable(root, ".ci/size/features.txt")
	if err != nil {
		return err
	}
	for _, feature := range table {
		pattern, err := regexp.Compile(feature.value)
		if err != nil {
			return fmt.Errorf("features.txt: %s: %w", feature.name, err)
		}
		if len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(feature.name, word) }) {
			continue
		}
		touched := map[string]int{}
		for name, text := range files {
			if n := len(pattern.FindAllString(text, -1)); n > 0 {
				touched[name] = n
			}
		}
		fmt.Printf("%-24s %3d files of the core\n", feature.name, len(touched))
		if len(words) > 0 {
			byUse := func(a, b string) int { return cmp.Or(touched[b]-touched[a], strings.Compare(a, b)) }
			for _, name := range slices.SortedFunc(maps.Keys(touched), byUse) {
				fmt.Printf("  %4d  %s\n", touched[name], name)
			}
		}
	}
	return nil
}
