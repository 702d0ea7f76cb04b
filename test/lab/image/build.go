//go:build linux

package image

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"golang.org/x/sys/unix"
)

// Options say what to build and where to put it.
type Options struct {
	Dir   string // the folder with the Dockerfile and what it copies
	Tag   string // the name that the image gets, as ghcr.io/me/train:v1
	Out   string // the archive
	Cache string // folder for layers and downloaded packages; may be shared by all images
}

// Build makes an image archive, as docker save writes it. It takes from the cache what has not changed, and
// leaves an archive alone that is what it would write.
func Build(ctx context.Context, o Options, out io.Writer) error {
	tag, err := name.NewTag(o.Tag)
	if err != nil {
		return fmt.Errorf("--tag %q is no name of an image, write one like ghcr.io/me/train:v1: %w", o.Tag, err)
	}
	if err := possible(); err != nil {
		return err
	}
	file, err := os.Open(filepath.Join(o.Dir, "Dockerfile"))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	r, err := readRecipe(file)
	if err != nil {
		return err
	}
	b := &builder{Options: o, tag: tag, out: out}
	if b.Cache, err = filepath.Abs(o.Cache); err != nil {
		return err
	}
	release, err := b.lock()
	if err != nil {
		return err
	}
	defer release()
	if err := b.layers(ctx, r); err != nil {
		return err
	}
	return b.archive()
}

// possible returns a sentence for people where an image cannot be built.
func possible() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("building an image mounts file systems and changes the root folder: run it as root, or use docker build")
	}
	for _, program := range []string{"apt-get", "dpkg-deb", "gpgv", "wget"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("this machine has no %s: images are built from Debian's packages, on Debian or Ubuntu; install it", program)
		}
	}
	return nil
}

// A builder carries the image from step to step.
type builder struct {
	Options
	tag    name.Tag
	out    io.Writer
	done   []layer // bottom first
	config config
}

// config is what the steps so far say about the containers of the image.
type config struct {
	env             []string
	workdir         string
	entrypoint, cmd []string
}

func (b *builder) layers(ctx context.Context, r recipe) error {
	base, err := b.base(ctx, r.release)
	if err != nil {
		return fmt.Errorf("making debian:%s-slim from packages: %w", r.release, err)
	}
	b.done = []layer{base}
	b.config.env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	for i, step := range r.steps {
		_, _ = fmt.Fprintf(b.out, "[%d/%d] %s\n", i+1, len(r.steps), step)
		if err := b.take(ctx, step); err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	return nil
}

// take carries out one step: a change of the configuration, or one more layer.
func (b *builder) take(ctx context.Context, step instructions.Command) error {
	switch s := step.(type) {
	case *instructions.EnvCommand:
		for _, pair := range s.Env {
			b.config.env = append(b.config.env, pair.Key+"="+pair.Value)
		}
	case *instructions.WorkdirCommand:
		b.config.workdir = filepath.Join("/", b.config.workdir, s.Path)
		if filepath.IsAbs(s.Path) {
			b.config.workdir = s.Path
		}
	case *instructions.EntrypointCommand:
		b.config.entrypoint = commandLine(s.ShellDependantCmdLine)
	case *instructions.CmdCommand:
		b.config.cmd = commandLine(s.ShellDependantCmdLine)
	case *instructions.RunCommand:
		key := b.key("run", s.String(), fmt.Sprint(b.config))
		return b.add(key, func(upper string) error { return b.run(ctx, s, key, upper) })
	case *instructions.CopyCommand:
		files, err := digest(b.Dir, s.SourcePaths)
		if err != nil {
			return err
		}
		return b.add(b.key("copy", s.String(), b.config.workdir, files), func(upper string) error { return b.copy(s, upper) })
	}
	return nil
}

func commandLine(line instructions.ShellDependantCmdLine) []string {
	if line.PrependShell {
		return append([]string{"/bin/sh", "-c"}, line.CmdLine...)
	}
	return line.CmdLine
}

// lock waits until no other build uses the cache: apt and pip lock their own folders, but they fail instead of waiting.
func (b *builder) lock() (release func(), err error) {
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(b.Cache, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		_, _ = fmt.Fprintf(b.out, "waiting for another build that uses %s\n", b.Cache)
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
			return nil, fmt.Errorf("locking %s: %w", b.Cache, err)
		}
	}
	return func() { _ = file.Close() }, nil
}

// watched runs work and says every 15 s how long it takes and what latest, if it returns anything, says.
func (b *builder) watched(what string, latest func() string, work func() error) error {
	began, done := time.Now(), make(chan error, 1)
	go func() { done <- work() }()
	for {
		select {
		case err := <-done:
			_, _ = fmt.Fprintf(b.out, "      %s: %.0f s\n", what, time.Since(began).Seconds())
			return err
		case <-time.After(15 * time.Second):
			_, _ = fmt.Fprintf(b.out, "      %s, %.0f s so far: %s\n", what, time.Since(began).Seconds(), latest())
		}
	}
}
