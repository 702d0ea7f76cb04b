package state_test

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
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

func TestTheNameOfACheckpointIsALineOfText(t *testing.T) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationCheckpoint: "/ckpt/7\x1b]0;owned\x07\n"}}}
	if got, want := state.ProgressOf(lease).Checkpoint, "/ckpt/7 ]0;owned"; got != want {
		t.Errorf("got %q, want %q", got, want)
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
