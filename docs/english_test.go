package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// forbidden are phrases that a reader in a hurry has to decode, each with a suggestion.
var forbidden = []struct {
	phrase  *regexp.Regexp
	instead string
}{
	{words(`of (which|whom|whose)`), "write a second sentence"},
	{words(`(that|those) of`), "repeat the noun"},
	{words(`as (it|they) (was|were)`), `write "unchanged", or name the state`},
	{words(`what (is|was|are) left`), `name it: "the remaining budget"`},
	{words(`of (before|theirs)`), `name it: "the old pods"`},
	{words(`(nobody|somebody|someone|anybody|no one|whoever)`), "name the user, the administrator or the controller"},
	{words(`(tells?|told|says|said|hears?|heard)`), "machines show, report, emit or return"},
	{words(`asks`), "machines request or read"},
	{words(`(is|are|was|were|be|been|being) asked`), "machines request; requests arrive"},
	{words(`(but for|save for)`), `write "except"`},
	{words(`anew`), `write "again", or "new pods"`},
	{words(`(cannot|can not) but`), `write "must"`},
	{words(`for want of`), `write "without"`},
	{words(`as (soon|long) as may be`), `write "as soon as possible"`},
}

func words(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b` + pattern + `\b`) }

// longestAverage is how many words a sentence of a page may have on average.
const longestAverage = 20

var (
	codeSpan = regexp.MustCompile("`[^`]*`")
	tooltip  = regexp.MustCompile(`(?m)(\]\([^)\s]+) "[^"]*"\)|^\[[^\]]+\]: .*$`)
	notProse = regexp.MustCompile(`(?m)^(\||#|!\[|\[[^\]]+\]: ).*$`)
	anItem   = regexp.MustCompile(`(?m)^ *([-*]|\d+\.) `)
	target   = regexp.MustCompile(`\]\([^)]*\)|\]\[[^\]]*\]`)
	endOf    = regexp.MustCompile(`[.!?][")*_]*\s+`)
	// identifier is the first word of a comment, which names what it is about, and a word in capitals within a sentence.
	identifier = regexp.MustCompile(`(^|\n\n)\w+|([a-z,;:] |\()[A-Z]\w*`)
	aWord      = regexp.MustCompile(`[\p{L}\p{N}][\p{L}\p{N}'./-]*`)
)

func TestPagesHaveNoForbiddenPhrase(t *testing.T) {
	for _, p := range pages(t) {
		checkPhrases(t, p.path, plain(p.text))
	}
}

func TestSentencesOfPagesAreShort(t *testing.T) {
	for _, p := range pages(t) {
		if strings.TrimSpace(p.text) == "" {
			t.Errorf("%s is empty", p.path)
		}
		if sentences, all := countWords(p.text); sentences > 0 && all > longestAverage*sentences {
			t.Errorf("%s: %d words in %d sentences, want at most %d a sentence on average", p.path, all, sentences, longestAverage)
		}
	}
}

func TestTheREADMEIsShort(t *testing.T) {
	if lines := strings.Count(read(t, "../README.md"), "\n"); lines > 110 {
		t.Errorf("%d lines, want at most 110", lines)
	}
}

// Comments of Go, and the words of Events, conditions, metrics and command lines.
func TestGoHasNoForbiddenPhrase(t *testing.T) {
	count := 0
	for _, folder := range []string{"../apis", "../pkg", "../cmd"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "zz_generated") {
				count++
				checkGo(t, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if count < 150 {
		t.Fatalf("only %d files, want at least 150: is the search wrong?", count)
	}
}

// mostRelative is how many words in a thousand of the comments of Go may be "that" or "which": each makes a reader hold one sentence inside another.
const mostRelative = 28

func TestCommentsOfGoHaveFewRelativeClauses(t *testing.T) {
	all, relative := 0, 0
	for _, folder := range []string{"../apis", "../pkg", "../cmd"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "zz_generated") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			for _, group := range file.Comments {
				for _, word := range aWord.FindAllString(group.Text(), -1) {
					all++
					if word = strings.ToLower(word); word == "that" || word == "which" {
						relative++
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if t.Logf("%d of %d words", relative, all); all < 50_000 || 1000*relative > mostRelative*all {
		t.Errorf("%d of %d words are \"that\" or \"which\", want at most %d in a thousand", relative, all, mostRelative)
	}
}

// Comments of the examples and of the manifests.
func TestYAMLHasNoForbiddenPhrase(t *testing.T) {
	comment := regexp.MustCompile(`(?m)(^|\s)#(.*)$`)
	for _, folder := range []string{"../examples", "../manifests"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && (strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".py")) {
				for _, found := range comment.FindAllStringSubmatch(read(t, path), -1) {
					checkPhrases(t, path, plain(found[2]))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// checkGo reads the comments and the strings of a Go file.
func checkGo(t *testing.T, path string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		checkPhrases(t, path, identifier.ReplaceAllString(plain(group.Text()), "${1}${2}X"))
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING && strings.Contains(literal.Value, " ") {
			checkPhrases(t, path, strings.Trim(literal.Value, "\"`"))
		}
		return true
	})
}

func checkPhrases(t *testing.T, path, text string) {
	t.Helper()
	text = strings.Join(strings.Fields(text), " ")
	for _, f := range forbidden {
		for _, at := range f.phrase.FindAllStringIndex(text, -1) {
			t.Errorf("%s: %q in %q: %s", path, text[at[0]:at[1]], text[max(0, at[0]-40):min(len(text), at[1]+40)], f.instead)
		}
	}
}

// plain returns the text without code, the names of tests and the targets of links.
func plain(text string) string {
	return codeSpan.ReplaceAllString(target.ReplaceAllString(tooltip.ReplaceAllString(text, "$1)"), "]"), "X")
}

// countWords returns the number of sentences and of words outside of tables, headings and code. A paragraph or an item of a list ends a sentence.
func countWords(text string) (sentences, all int) {
	text = plain(anItem.ReplaceAllString(notProse.ReplaceAllString(text, "\n"), "\n\n"))
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		for _, sentence := range endOf.Split(paragraph, -1) {
			if n := len(aWord.FindAllString(sentence, -1)); n > 0 {
				sentences++
				all += n
			}
		}
	}
	return sentences, all
}
