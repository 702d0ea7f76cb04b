package state_test

import (
	"testing"

	"github.com/trainingjob/operator/pkg/job/state"
)

func TestPrintable(t *testing.T) {
	for words, want := range map[string]string{
		"no room on 3 nodes":         "no room on 3 nodes",
		"Grüße, 世界 🙂":                "Grüße, 世界 🙂",
		"\x1b[31mred\x1b[0m":         "[31mred [0m",
		"one\nSucceeded: two\r\n":    "one Succeeded: two",
		"gnp.\u202egpj.exe":          "gnp. gpj.exe",
		"bytes \xff of no text":      "bytes \ufffd of no text",
		" \t\x00 ":                   "",
		"a line\u0085of an old Unix": "a line of an old Unix",
	} {
		if got := state.Printable(words); got != want {
			t.Errorf("%q: got %q, want %q", words, got, want)
		}
	}
}

// A text that is cut must not keep the megabyte of which it is the beginning, nor end within a character.
func TestACutTextIsWholeCharacters(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abc", "aéé": "aé", "ééé": "é", "\x80\x80\x80\x80": ""} {
		if got := state.Cut(text, 3); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
