package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// source is where the code is, by the name of its module.
const source = "https://github.com/trainingjob/operator"

// release is what everything in it is made of.
type release struct {
	version   string // v0.1.0
	registry  string // registry.example.com/team
	tree      string // the top folder of the repository
	out       string
	python    string
	platforms []platform

	revision string    // of the commit
	created  time.Time // when it was committed: the time of all that is made
}

var (
	versions   = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z][0-9A-Za-z.-]*)?$`)
	registries = regexp.MustCompile(`^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)*$`)
)

func (r *release) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.version, "version", "", "version, as v0.1.0 or v0.1.0-rc.1")
	f.StringVar(&r.registry, "registry", "", "registry and folder of the images, as registry.example.com/team: REGISTRY/operator, REGISTRY/kueue-adapter")
	f.StringVar(&r.tree, "tree", ".", "top folder of the repository")
}

// checkNames returns an error that says what to write instead.
func (r *release) checkNames() error {
	if !registries.MatchString(r.registry) {
		return fmt.Errorf("--registry %q: write where the images are, as registry.example.com/team; no registry is the project's own", r.registry)
	}
	if r.version == "" {
		return errors.New("--version is missing: write one, as v0.1.0")
	}
	return nil
}

// prepare reads the commit that is released.
func (r *release) prepare(ctx context.Context) error {
	if err := r.checkNames(); err != nil {
		return err
	}
	if !versions.MatchString(r.version) {
		return fmt.Errorf("--version %q: write a semantic version, as v0.1.0 or v0.1.0-rc.1", r.version)
	}
	changed, err := r.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the tree is not as it was committed, so nobody could make this release again: commit or remove\n%s", changed)
	}
	return r.readCommit(ctx)
}

// readCommit reads which commit is checked out, and its time.
func (r *release) readCommit(ctx context.Context) (err error) {
	if r.revision, err = r.git(ctx, "rev-parse", "HEAD"); err != nil {
		return err
	}
	seconds, err := r.git(ctx, "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("reading the time of the commit: %w", err)
	}
	r.created = time.Unix(epoch, 0).UTC()
	return nil
}

// all writes every part of the release. The checksums come last, as they are those of all files.
func (r *release) all(ctx context.Context) error {
	if err := r.emptyOut(); err != nil {
		return err
	}
	if err := r.changes(); err != nil { // first, as it fails soonest
		return err
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	digests := map[string]string{}
	for _, p := range images {
		if digests[p.name], err = r.image(ctx, work, p); err != nil {
			return err
		}
	}
	steps := []func() error{
		func() error { return r.plugin(ctx, work) },
		func() error { return r.sboms(work) },
		func() error { return r.manifests(digests) },
		func() error { return r.chart(digests) },
		func() error { return r.wheel(ctx) },
		r.checksums,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// emptyOut makes the folder of the release. It removes an older release there, but nothing else.
func (r *release) emptyOut() error {
	entries, err := os.ReadDir(r.out)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if _, missing := os.Stat(filepath.Join(r.out, checksumFile)); len(entries) > 0 && missing != nil {
		return fmt.Errorf("%s has files and is no release: remove it, or name another folder by --out", r.out)
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	return os.MkdirAll(r.out, 0o755)
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	said, err := run(ctx, r.tree, nil, "git", args...)
	return strings.TrimSpace(said), err
}

// isPrerelease reports whether the version has a suffix, as v0.1.0-rc.1 does.
func (r *release) isPrerelease() bool { return strings.Contains(r.version, "-") }

// run runs a program and returns what it prints. The error has what it complains about.
func run(ctx context.Context, folder string, env []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", program, strings.Join(args, " "), err, out, complaint.String())
	}
	return string(out), nil
}

// write writes a file and the folders above it.
func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
