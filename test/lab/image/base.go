//go:build linux

package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// slim is what Debian's slim image differs in from a plain installation: no documentation, and no services that start
// with their package.
const slim = `set -e
printf '#!/bin/sh\nexit 101\n' > "$1/usr/sbin/policy-rc.d"
chmod 755 "$1/usr/sbin/policy-rc.d"
printf 'path-exclude /usr/share/doc/*\npath-exclude /usr/share/man/*\npath-exclude /usr/share/locale/*\n' > "$1/etc/dpkg/dpkg.cfg.d/slim"
rm -rf "$1"/usr/share/doc/* "$1"/usr/share/man/* "$1"/usr/share/locale/* "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/*
: > "$1/etc/resolv.conf"
: > "$1/etc/hosts"
`

// base returns the layer with a minimal Debian. It is made once by debootstrap, whose package is unpacked in the cache and
// not installed.
func (b *builder) base(ctx context.Context, release string) (layer, error) {
	return b.layer(b.key("debian", release, slim), func(root string) error {
		_, _ = fmt.Fprintf(b.out, "making debian:%s-slim from packages, once\n", release)
		tools, err := b.debootstrap(ctx)
		if err != nil {
			return err
		}
		log := filepath.Join(b.Cache, "logs", "debian-"+release)
		if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
			return err
		}
		script := `set -e; "$2/usr/sbin/debootstrap" --variant=minbase --keyring="$2/usr/share/keyrings/debian-archive-keyring.gpg" "$3" "$1" ${4:+"$4"}` + "\n" + slim
		cmd := exec.CommandContext(ctx, "sh", "-c", script, "sh", root, tools, release, mirror())
		cmd.Env = append(os.Environ(), "DEBOOTSTRAP_DIR="+tools+"/usr/share/debootstrap")
		file, err := os.Create(log)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		cmd.Stdout, cmd.Stderr = file, file
		endWhole(cmd)
		err = b.watched("debootstrap", func() string { return lastLines(log, 1) }, func() error { return inOwnMountNamespace(cmd.Run) })
		if err != nil {
			return fmt.Errorf("%w; the last lines of %s:\n%s", err, log, lastLines(log, 10))
		}
		return nil
	})
}

// debootstrap returns the folder with debootstrap and Debian's keys.
func (b *builder) debootstrap(ctx context.Context) (string, error) {
	tools := filepath.Join(b.Cache, "debootstrap")
	if _, err := os.Stat(tools); err == nil {
		return tools, nil
	}
	packages, err := os.MkdirTemp(b.Cache, "packages-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(packages) }()
	// apt downloads as a user of its own, who must be able to write there.
	if err := os.Chmod(packages, 0o777); err != nil {
		return "", err
	}
	script := `set -e; apt-get download debootstrap debian-archive-keyring; for p in *.deb; do dpkg-deb -x "$p" tools; done; mv tools "$1"`
	cmd := exec.CommandContext(ctx, "sh", "-c", script, "sh", tools)
	cmd.Dir = packages
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("downloading debootstrap (run apt-get update if this machine's lists are old): %w\n%s", err, out)
	}
	return tools, nil
}

// mirror returns from where this machine's apt gets Debian; it is empty where that gets another distribution, such as Ubuntu, and
// debootstrap then takes its own default.
func mirror() string {
	out, err := exec.Command("apt-get", "indextargets", "--format", "$(ORIGIN) $(LABEL) $(REPO_URI)", "Created-By: Packages").Output()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(out)) {
		if repository, is := strings.CutPrefix(strings.TrimSpace(line), "Debian Debian "); is {
			return strings.TrimSuffix(repository, "/")
		}
	}
	return ""
}
