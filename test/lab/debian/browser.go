package debian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// browserPackage is Debian's Chromium without a screen. Ubuntu has it only as a snap, which cannot be unpacked.
const browserPackage = "chromium-headless-shell"

// launcher starts the unpacked browser with the libraries beside it. The browser's own sandbox refuses to run as root; it is shown
// nothing but pages of this project's tests.
const launcher = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
for libraries in "$here"/root/usr/lib/*-linux-gnu; do
	LD_LIBRARY_PATH=$libraries:$libraries/pulseaudio
done
export LD_LIBRARY_PATH HOME="$here"
exec "$here/root/usr/lib/chromium/chromium-headless-shell" --no-sandbox "$@"
`

// FetchBrowser downloads and unpacks a browser for tests of pages, with what it needs that the machine has not, unless it is there.
// It returns its program. Nothing is installed.
func (c Cache) FetchBrowser(ctx context.Context, say func(format string, args ...any)) (program string, err error) {
	program = filepath.Join(string(c), "browser")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := c.Check(); err != nil {
		return "", errors.New("the browser comes from Debian's packages, and this machine has no apt-get or dpkg-deb: use another one, or set CHROMIUM to a browser of yours")
	}
	if err := c.empty(); err != nil {
		return "", err
	}
	say("downloading %s and the libraries that it needs, about 100 MB (once; nothing is installed)", browserPackage)
	if err := c.downloadBrowser(ctx, say); err != nil {
		return "", err
	}
	if err := c.unpackAll(ctx); err != nil {
		return "", err
	}
	if err := os.WriteFile(program, []byte(launcher), 0o755); err != nil {
		return "", fmt.Errorf("writing the browser's launcher: %w", err)
	}
	return program, nil
}

// downloadBrowser downloads the packages that an installation would, without the machine's locks, which belong to installations.
func (c Cache) downloadBrowser(ctx context.Context, say func(format string, args ...any)) error {
	args := []string{"install", "--yes", "--download-only", "--reinstall", "--no-install-recommends", "-o", "Debug::NoLocking=1", browserPackage}
	if c.apt(ctx, nil, args) == nil {
		return nil
	}
	say("the machine's lists of packages do not do: fetching private ones")
	if err := c.apt(ctx, c.ownLists(), []string{"update"}); err != nil {
		return err
	}
	return c.apt(ctx, c.ownLists(), args)
}

// unpackAll unpacks whatever was downloaded.
func (c Cache) unpackAll(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(string(c), "archives", "*.deb"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("apt-get has downloaded no packages: %w", err)
	}
	for _, file := range files {
		if err := run(exec.CommandContext(ctx, "dpkg-deb", "--extract", file, c.Root())); err != nil {
			return err
		}
	}
	return nil
}
