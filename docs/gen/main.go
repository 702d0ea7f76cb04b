// Command gen adds to the API reference what crd-ref-docs does not see, the condition types and reasons:
//
//	gen REFERENCE CONDITIONS.GO OUTPUT
//
// Each group of constants becomes a table, each constant's comment a row of it.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: gen REFERENCE CONDITIONS.GO OUTPUT")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func generate(reference, source, output string) error {
	page, err := os.ReadFile(reference)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	tables, err := constants(file)
	if err != nil {
		return fmt.Errorf("reading %s: %w", source, err)
	}
	text := written(strings.TrimSpace(string(page))) + "\n" + tables
	return os.WriteFile(output, []byte(text), 0o644)
}

// aFloat is a whole number as Go prints a large float64, which the bounds of the markers become.
var aFloat = regexp.MustCompile(`\b\d+(\.\d+)?e\+\d+\b`)

// written returns the text with such numbers as people write them.
func written(text string) string {
	return aFloat.ReplaceAllStringFunc(text, func(number string) string {
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return number
		}
		return strconv.FormatFloat(value, 'f', -1, 64)
	})
}

// constants returns a section for each group of string constants in file, in the file's order.
func constants(file *ast.File) (string, error) {
	var out strings.Builder
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		title, rest, _ := strings.Cut(strings.TrimSpace(group.Doc.Text()), ".")
		fmt.Fprintf(&out, "\n## %s\n\n", prose(title))
		if rest = prose(rest); rest != "" {
			fmt.Fprintf(&out, "%s\n\n", rest)
		}
		out.WriteString("| Value | |\n| --- | --- |\n")
		for _, spec := range group.Specs {
			line, err := row(spec.(*ast.ValueSpec))
			if err != nil {
				return "", err
			}
			out.WriteString(line)
		}
	}
	return out.String(), nil
}

// row returns one constant's line of a table. The comment's first word, the constant's name, is left out.
func row(constant *ast.ValueSpec) (string, error) {
	name := constant.Names[0].Name
	literal, ok := constant.Values[0].(*ast.BasicLit)
	if !ok {
		return "", fmt.Errorf("%s is not a literal", name)
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	comment := strings.TrimPrefix(prose(constant.Doc.Text()), name)
	return fmt.Sprintf("| `%s` | %s |\n", value, strings.TrimSpace(strings.TrimPrefix(comment, ":"))), nil
}

// prose returns text on one line.
func prose(text string) string { return strings.Join(strings.Fields(text), " ") }
