// Package debian fetches what a real node runs, containerd, runc and the CNI plug-ins, and a browser for tests, as packages of the machine's own
// distribution and version. They are unpacked into a folder and never installed: the machine stays as it is.
//
// What they need beside themselves is on every Debian and Ubuntu: the C library and libseccomp, which apt itself needs.
package debian

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

var packages = []string{"containerd", "runc", "containernetworking-plugins"}

// Cache is the folder that holds the unpacked packages.
type Cache string

// Root is where the packages are unpacked: Root()/usr/bin/containerd and so on.
func (c Cache) Root() string { return filepath.Join(string(c), "root") }

// versions is the file that Fetch writes last, with one line for each package.
func (c Cache) versions() string { return filepath.Join(string(c), "versions") }

// Ready reports whether Fetch has nothing to do.
func (c Cache) Ready() bool {
	_, err := os.Stat(c.versions())
	return err == nil
}

// Check returns an error that says what is missing if Fetch cannot work here.
func (c Cache) Check() error {
	if c.Ready() {
		return nil
	}
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("real nodes run containerd from Debian's or Ubuntu's packages, and %s is not here: use such a machine, or --real 0", program)
		}
	}
	return nil
}

// Fetch downloads and unpacks the packages unless they are there, and returns what they are, such as
// "containerd 1.6.20~ds1-1, runc 1.1.5". It calls say before whatever takes long.
func (c Cache) Fetch(ctx context.Context, say func(format string, args ...any)) (string, error) {
	if !c.Ready() {
		if err := c.fetch(ctx, say); err != nil {
			return "", err
		}
	}
	versions, err := os.ReadFile(c.versions())
	if err != nil {
		return "", fmt.Errorf("reading the versions of the packages: %w", err)
	}
	return strings.Join(strings.Split(strings.TrimSpace(string(versions)), "\n"), ", "), nil
}

// fetch starts anew: what an interrupted one has left may be incomplete.
func (c Cache) fetch(ctx context.Context, say func(format string, args ...any)) error {
	if err := c.empty(); err != nil {
		return err
	}
	say("downloading %s with apt-get (once; nothing is installed)", strings.Join(packages, ", "))
	if err := c.download(ctx, say); err != nil {
		return err
	}
	return c.unpack(ctx, say)
}

// empty makes the folder as it is before anything is fetched.
func (c Cache) empty() error {
	if err := os.RemoveAll(string(c)); err != nil {
		return fmt.Errorf("emptying the folder for packages: %w", err)
	}
	for _, folder := range []string{"lists/partial", "archives/partial", "root"} {
		if err := os.MkdirAll(filepath.Join(string(c), folder), 0o755); err != nil {
			return fmt.Errorf("making the folder for packages: %w", err)
		}
	}
	return nil
}

// ownLists say that apt-get has lists of packages of its own.
func (c Cache) ownLists() []string {
	return []string{"-o", "Dir::State::lists=" + filepath.Join(string(c), "lists")}
}

// download tries the lists of packages that the machine has, and fetches lists of its own if they do not do.
func (c Cache) download(ctx context.Context, say func(format string, args ...any)) error {
	if c.apt(ctx, nil, append([]string{"download"}, packages...)) == nil {
		return nil
	}
	say("the machine's lists of packages do not do: fetching private ones")
	if err := c.apt(ctx, c.ownLists(), []string{"update"}); err != nil {
		return err
	}
	return c.apt(ctx, c.ownLists(), append([]string{"download"}, packages...))
}

// apt runs apt-get so that it writes nothing outside of this folder; it downloads into its working directory.
func (c Cache) apt(ctx context.Context, options, args []string) error {
	archives := filepath.Join(string(c), "archives")
	command := exec.CommandContext(ctx, "apt-get", append(append([]string{
		"-q", "-o", "APT::Sandbox::User=root", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=",
		"-o", "Dir::Cache::archives=" + archives,
	}, options...), args...)...)
	command.Dir = archives
	return run(command)
}

func (c Cache) unpack(ctx context.Context, say func(format string, args ...any)) error {
	var versions strings.Builder
	for _, name := range packages {
		files, err := filepath.Glob(filepath.Join(string(c), "archives", name+"_*.deb"))
		if err != nil {
			return fmt.Errorf("looking for package %s: %w", name, err)
		}
		if len(files) != 1 {
			return fmt.Errorf("apt-get has downloaded %d files for package %s, want 1", len(files), name)
		}
		version, err := output(exec.CommandContext(ctx, "dpkg-deb", "--field", files[0], "Version"))
		if err != nil {
			return err
		}
		if err := run(exec.CommandContext(ctx, "dpkg-deb", "--extract", files[0], c.Root())); err != nil {
			return err
		}
		say("unpacked %s %s", name, version)
		fmt.Fprintf(&versions, "%s %s\n", name, version)
	}
	if err := os.WriteFile(c.versions(), []byte(versions.String()), 0o644); err != nil {
		return fmt.Errorf("writing the versions of the packages: %w", err)
	}
	return nil
}

func run(command *exec.Cmd) error {
	_, err := output(command)
	return err
}

func output(command *exec.Cmd) (string, error) {
	var said bytes.Buffer
	command.Stderr = &said
	written, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command.Args, " "), err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(written)), nil
}
