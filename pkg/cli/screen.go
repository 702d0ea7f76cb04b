package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/trainingjob/operator/pkg/cli/story"
)

// screen is what the output is written to.
type screen struct {
	// isTerminal is whether a person looks at it.
	isTerminal bool
	// colour is whether it may be coloured.
	colour bool
	// marks are the characters that it can show.
	marks story.Marks
	// width returns its columns; 0 for no limit.
	width func() int
	// height returns its lines; 0 for no limit.
	height func() int
}

// plainWidth is the number of columns of a picture outside a terminal.
const plainWidth = 80

// screenOf returns what w is.
func screenOf(w io.Writer) screen {
	s := screen{marks: story.ASCII, width: func() int { return 0 }, height: func() int { return 0 }}
	file, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return s
	}
	s.isTerminal = true
	s.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			if strings.Contains(strings.ToLower(strings.ReplaceAll(value, "-", "")), "utf8") {
				s.marks = story.Blocks
			}
			break
		}
	}
	s.width = func() int {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
		return plainWidth
	}
	s.height = func() int {
		_, height, _ := term.GetSize(int(file.Fd())) // less than 0 on an error
		return max(height, 0)
	}
	return s
}

// cut returns as much of a text as fits on the screen while its last line stays free, with the number of omitted lines.
func (s *screen) cut(text string) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	most := s.height() - 1
	if s.height() == 0 || len(lines) <= most {
		return text
	}
	shown := max(0, most-1)
	return strings.Join(lines[:shown], "") + fmt.Sprintf("... and %d more\n", len(lines)-shown)
}

// picture returns how wide a picture may be.
func (s *screen) picture() int {
	if width := s.width(); width > 0 {
		return width
	}
	return plainWidth
}

// fit cuts each line of a text to the screen's width.
func (s *screen) fit(text string) string {
	width := s.width()
	if width == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = story.Cut(lines[i], width)
	}
	return strings.Join(lines, "\n")
}

// The colours, by their ANSI codes.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
)

// paint colours a text, if the screen has colours.
func (s *screen) paint(colour, text string) string {
	if !s.colour || colour == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
