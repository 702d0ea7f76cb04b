package docs_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trainingjob/operator/test/bench/results"
)

func measurements(t *testing.T) results.File {
	t.Helper()
	measured, err := results.Read("peers.json")
	if err != nil || len(measured.Runs) == 0 {
		t.Fatalf("%d runs, %v", len(measured.Runs), err)
	}
	return measured
}

// The tables, who is ahead in them, and the picture are rendered, not written.
func TestTheTablesOfPeersAreRendered(t *testing.T) {
	measured := measurements(t)
	picture, err := measured.Compare().Picture()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(read(t, "benchmarks.md"), "\n\n"+strings.TrimSpace(measured.Markdown())+"\n\n") || read(t, "images/peers.svg") != string(picture) {
		t.Error("benchmarks.md or images/peers.svg differs from peers.json: run go run ./test/bench render")
	}
}

const aNumber, aUnit = `\d+(?:,\d{3})*(?:\.\d+)?`, `(?:s|ms|min|minutes|seconds|KB|MB|GB|requests|writes|pods/s|times|of the speed|%)`

var (
	number = regexp.MustCompile(aNumber)
	// figure is a number, or several, with the unit of a measurement.
	figure = regexp.MustCompile(`((?:` + aNumber + `(?:,| and| or| to) )*` + aNumber + `) ?(` + aUnit + `)(?:[^\w/-]|$)`)
	// entry is a number of a section, which may have a unit.
	entry = regexp.MustCompile(`(` + aNumber + `)(?: ?(` + aUnit + `)(?:[^\w/-]|$))?`)
	// toFigures leads to a section of benchmarks.md.
	toFigures = regexp.MustCompile(`benchmarks\.md#([\w-]+)`)
)

// A figure beside a link to a section of the benchmarks stands in that section. README.md and comparison.md have no other measured figure.
func TestFiguresAreFromTheSectionThatTheyLinkTo(t *testing.T) {
	sections := sectionsOfBenchmarks(t)
	count := 0
	for _, p := range pages(t) {
		name := filepath.Base(p.path)
		if slices.Contains([]string{"decisions.md", "CHANGELOG.md"}, name) { // figures of their day
			continue
		}
		needsLink := p.path == "../README.md" || name == "comparison.md"
		for _, s := range p.statements() {
			if toFigures.MatchString(s) {
				count++
			}
			for _, wrong := range wrongFigures(s, sections, needsLink) {
				t.Errorf("%s: %s is not in the section of benchmarks.md that this links to: %s", p.path, wrong, s)
			}
		}
	}
	if count < 15 {
		t.Errorf("only %d statements with a link to the benchmarks, want at least 15: is the search wrong?", count)
	}
}

// wrongFigures returns the figures of the statement that no section has to which it links; measured ones also if it links to none.
func wrongFigures(statement string, sections map[string]string, needsLink bool) []string {
	links := toFigures.FindAllStringSubmatch(statement, -1)
	isKnown := func(value, unit string) bool {
		return slices.ContainsFunc(links, func(link []string) bool {
			return slices.ContainsFunc(entry.FindAllStringSubmatch(sections[link[1]], -1), func(e []string) bool {
				return e[1] == value && (e[2] == unit || e[2] == "")
			})
		})
	}
	var wrong []string
	for _, found := range figure.FindAllStringSubmatch(target.ReplaceAllString(statement, "]"), -1) {
		for _, value := range number.FindAllString(found[1], -1) {
			isMeasured := links != nil || needsLink && strings.Contains(value, ".") // a setting seldom has a fraction
			if isMeasured && !isKnown(value, found[2]) {
				wrong = append(wrong, value)
			}
		}
	}
	return wrong
}

// statements are the sentences and the cells of the page, with links by name as links to their target.
func (p page) statements() []string {
	text := p.text
	if p.path == "benchmarks.md" {
		text = strings.ReplaceAll(text, "](#", "](benchmarks.md#")
	}
	for _, found := range definition.FindAllStringSubmatch(p.text, -1) {
		text = strings.ReplaceAll(text, "]["+found[1]+"]", "]("+found[2]+")")
	}
	var all []string
	for _, block := range regexp.MustCompile(`\n\s*\n|\n *[-*|] ?`).Split(text, -1) {
		for _, cell := range strings.Split(block, "|") {
			all = append(all, endOf.Split(strings.Join(strings.Fields(cell), " "), -1)...)
		}
	}
	return all
}

// sectionsOfBenchmarks returns the text below each heading, up to the next one of its level, by its anchor.
func sectionsOfBenchmarks(t *testing.T) map[string]string {
	t.Helper()
	text := read(t, "benchmarks.md")
	all := map[string]string{}
	for _, at := range heading.FindAllStringIndex(text, -1) {
		head := text[at[0]:at[1]]
		level := strings.IndexByte(head, ' ')
		body := text[at[1]:]
		if end := regexp.MustCompile(`(?m)^#{1,` + string(rune('0'+level)) + `} `).FindStringIndex(body); end != nil {
			body = body[:end[0]]
		}
		all[anchors(head)[0]] = body
	}
	return all
}

func TestAWrongFigureIsFound(t *testing.T) {
	sections := map[string]string{"start": "| TrainingJob | 7.5 s (7.1 to 8.0 in 3), 1.25 | 1,233 requests |"}
	for _, test := range []struct {
		statement string
		needsLink bool
		want      string
	}{
		{"[7.5 s](docs/benchmarks.md#start)", true, ""},
		{"[It](benchmarks.md#start) took 7.1 to 8.0 s with 1,233 requests.", true, ""},
		{"[It](benchmarks.md#start) took 7.6 s.", false, "7.6"},
		{"[It](benchmarks.md#start) took 7.5 and 7.7 s", false, "7.7"},
		{"[It](benchmarks.md#start) took 233 requests", false, "233"},
		{"[It](benchmarks.md#start) took 1,233 MB and 7.1 MB", false, "1,233"},
		{"A plain Job starts in 5.3 s", true, "5.3"},
		{"A plain Job starts in 5.3 s", false, ""},
		{"It is replaced 15 s after NotReady", true, ""},
	} {
		if got := strings.Join(wrongFigures(test.statement, sections, test.needsLink), " "); got != test.want {
			t.Errorf("%q: wrong %q, want %q", test.statement, got, test.want)
		}
	}
}

// order are the words for who is faster, which only a rendered table may use.
var order = words(`(ahead|behind|faster|fastest|slower|slowest|quicker|quickest|no peer)`)

// claims returns the sentences with such words.
func claims(text string) []string {
	return slices.DeleteFunc(page{text: text}.statements(), func(s string) bool { return !order.MatchString(s) })
}

func TestOnlyTheRenderedTablesShowWhoIsAhead(t *testing.T) {
	benchmarks := sectionsOfBenchmarks(t)["beside-others"]
	before, _, begins := strings.Cut(benchmarks, "<!-- peers: begin")
	_, after, ends := strings.Cut(benchmarks, "<!-- peers: end")
	_, comparison, compares := strings.Cut(read(t, "comparison.md"), "\n## How fast\n")
	comparison, _, _ = strings.Cut(comparison, "\n## ")
	if !begins || !ends || !compares {
		t.Fatal("benchmarks.md has no tables of peers, or comparison.md no section How fast")
	}
	for name, text := range map[string]string{"benchmarks.md": before + after, "comparison.md": comparison, "README.md": shortComparison(t)} {
		for _, claim := range claims(text) {
			t.Errorf("%s: link to the rendered table instead of a claim that no test holds: %s", name, claim)
		}
	}
	if got := claims("It is true. No time of a column above is ahead of this operator. It is fast."); len(got) != 1 {
		t.Errorf("found %q, want the sentence in the middle", got)
	}
}
