//go:build linux

package image

import (
	"strings"
	"testing"
)

// Every refusal says what to write instead, and on which line it was.
func TestWhatCannotBeBuiltIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ dockerfile, want string }{
		"another base":        {"FROM python:3.13-slim\n", "write FROM debian:bookworm-slim"},
		"two stages":          {"FROM debian:bookworm-slim AS a\nFROM debian:bookworm-slim\n", "write one stage"},
		"a build argument":    {"FROM debian:bookworm-slim\nARG VERSION\n", "line 2"},
		"a file of a stage":   {"FROM debian:bookworm-slim\nCOPY --from=build /x /y\n", "COPY SOURCE... TARGET without flags"},
		"a secret":            {"FROM debian:bookworm-slim\nRUN --mount=type=secret,id=x true\n", "only --mount=type=cache"},
		"a here-document":     {"FROM debian:bookworm-slim\nRUN <<EOF\ntrue\nEOF\n", "join the commands with &&"},
		"a variable":          {"FROM debian:bookworm-slim\nENV PATH=/x:$PATH\n", "write the value itself"},
		"another user":        {"FROM debian:bookworm-slim\n\nUSER 1000\n", "line 3"},
		"no instruction":      {"FORM debian:bookworm-slim\n", "parsing the Dockerfile"},
		"nothing of the kind": {"", "parsing the Dockerfile"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readRecipe(strings.NewReader(c.dockerfile))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestTheReleaseIsThatOfTheBase(t *testing.T) {
	r, err := readRecipe(strings.NewReader("FROM debian:trixie-slim\nRUN --mount=type=cache,target=/c true\nENTRYPOINT [\"x\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if r.release != "trixie" || len(r.steps) != 2 {
		t.Errorf("release %q and %d steps, want trixie and 2", r.release, len(r.steps))
	}
}
