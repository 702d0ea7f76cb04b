//go:build linux

package image

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// debianBase is the kind of image that can be made from Debian's packages.
var debianBase = regexp.MustCompile(`^debian:([a-z]+)-slim$`)

// A recipe is what a Dockerfile says.
type recipe struct {
	release string // of Debian
	steps   []instructions.Command
}

// readRecipe parses a Dockerfile and refuses what Build cannot carry out, with the line that says it.
func readRecipe(dockerfile io.Reader) (recipe, error) {
	parsed, err := parser.Parse(dockerfile)
	if err != nil {
		return recipe{}, fmt.Errorf("parsing the Dockerfile: %w", err)
	}
	stages, args, err := instructions.Parse(parsed.AST, linter.New(&linter.Config{}))
	if err != nil {
		return recipe{}, fmt.Errorf("parsing the Dockerfile: %w", err)
	}
	if len(stages) != 1 || len(args) > 0 {
		return recipe{}, fmt.Errorf("the Dockerfile has %d stages and %d ARG before the first: without a container engine write one stage and no ARG", len(stages), len(args))
	}
	base := debianBase.FindStringSubmatch(stages[0].BaseName)
	if base == nil {
		return recipe{}, fmt.Errorf("FROM %s: only Debian can be made from packages, so write FROM debian:bookworm-slim", stages[0].BaseName)
	}
	r := recipe{release: base[1], steps: stages[0].Commands}
	for _, step := range r.steps {
		if err := supported(step); err != nil {
			return recipe{}, fmt.Errorf("line %d, %s: %w", step.Location()[0].Start.Line, step, err)
		}
	}
	return r, nil
}

func supported(step instructions.Command) error {
	switch s := step.(type) {
	case *instructions.RunCommand:
		return supportedRun(s)
	case *instructions.CopyCommand:
		if s.From != "" || s.Chown != "" || s.Chmod != "" || len(s.SourceContents) > 0 || len(s.ExcludePatterns) > 0 {
			return fmt.Errorf("only COPY SOURCE... TARGET without flags is supported here")
		}
	case *instructions.EnvCommand:
		for _, pair := range s.Env {
			if strings.Contains(pair.Value, "$") {
				return fmt.Errorf("variables are not replaced here: write the value itself")
			}
		}
	case *instructions.WorkdirCommand, *instructions.EntrypointCommand, *instructions.CmdCommand:
	default:
		return fmt.Errorf("only FROM, RUN, COPY, ENV, WORKDIR, ENTRYPOINT and CMD are supported here")
	}
	return nil
}

func supportedRun(step *instructions.RunCommand) error {
	asWritten := func(word string) (string, error) { return word, nil }
	if err := step.Expand(asWritten); err != nil { // settles the flags
		return err
	}
	if len(step.Files) > 0 {
		return fmt.Errorf("here-documents are not supported here: join the commands with &&")
	}
	for _, m := range instructions.GetMounts(step) {
		if m.Type != instructions.MountTypeCache || m.From != "" {
			return fmt.Errorf("only --mount=type=cache,target=... is supported here")
		}
	}
	return nil
}
