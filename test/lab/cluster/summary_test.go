package cluster

import "testing"

func TestShellQuote(t *testing.T) {
	for word, want := range map[string]string{
		"/a/b-c_1.d": "/a/b-c_1.d",
		"/a b":       "'/a b'",
		"it's":       `'it'\''s'`,
	} {
		if got := shellQuote(word); got != want {
			t.Errorf("%s became %s, want %s", word, got, want)
		}
	}
}
