package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// changes writes the section of CHANGELOG.md about this version. A pre-release need not have one.
func (r *release) changes() error {
	text, err := os.ReadFile(filepath.Join(r.tree, "CHANGELOG.md"))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	section := sectionOf(string(text), r.version)
	switch {
	case section != "":
		return write(filepath.Join(r.out, "changes.md"), []byte(section))
	case r.isPrerelease():
		return nil
	default:
		return fmt.Errorf("CHANGELOG.md has no section about %s: write one under the heading ## %s", r.version, r.version)
	}
}

// sectionOf returns what a changelog has under the heading of the version, as "## v0.1.0" or "## [0.1.0] - 2026-11-23"; nothing if there is none.
func sectionOf(changelog, version string) string {
	number := regexp.QuoteMeta(strings.TrimPrefix(version, "v"))
	heading := regexp.MustCompile(`(?m)^## \[?v?` + number + `\]?([ :(].*)?$`)
	at := heading.FindStringIndex(changelog)
	if at == nil {
		return ""
	}
	section := changelog[at[0]:]
	if next := strings.Index(section[3:], "\n## "); next >= 0 {
		section = section[:3+next]
	}
	return strings.TrimSpace(section) + "\n"
}

// wheel writes the wheel of the Python SDK. Its version is its own: that of sdk/python/pyproject.toml.
func (r *release) wheel(ctx context.Context) error {
	if _, err := run(ctx, r.tree, nil, r.python, "-c", "import build, setuptools"); err != nil {
		return fmt.Errorf("the wheel of the SDK needs %s with the modules build and setuptools: make release installs them into bin/venv-release: %w", r.python, err)
	}
	work, err := os.MkdirTemp("", "sdk-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	// A copy of what is committed: setuptools writes beside its source, and takes files from there.
	archive := filepath.Join(work, "sdk.tar")
	if _, err := run(ctx, r.tree, nil, "git", "archive", "--output", archive, "HEAD", "sdk/python", "LICENSE"); err != nil {
		return err
	}
	if _, err := run(ctx, work, nil, "tar", "-xf", archive); err != nil {
		return err
	}
	out, err := filepath.Abs(r.out)
	if err != nil {
		return err
	}
	epoch := []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.created.Unix(), 10), "PYTHONHASHSEED=0"}
	fmt.Println("building the wheel of the SDK")
	_, err = run(ctx, filepath.Join(work, "sdk/python"), epoch, r.python, "-m", "build", "--no-isolation", "--wheel", "--outdir", out)
	return err
}
