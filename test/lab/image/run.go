//go:build linux

package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"golang.org/x/sys/unix"
)

// run carries out a RUN step on top of the former layers; what it writes lands in upper.
func (b *builder) run(ctx context.Context, step *instructions.RunCommand, key, upper string) error {
	caches := map[string]string{} // on this machine, by their place in the image
	for _, target := range []string{"/var/cache/apt/archives"} {
		caches[target] = b.cacheFor(target)
	}
	for _, mount := range instructions.GetMounts(step) {
		caches[mount.Target] = b.cacheFor(mount.Target)
	}
	log := filepath.Join(b.Cache, "logs", key)
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return err
	}
	err := b.watched("ran", func() string { return lastLines(log, 1) }, func() error {
		return inOwnMountNamespace(func() error {
			root, err := b.mountRoot(upper, caches)
			if err != nil {
				return err
			}
			return b.chroot(ctx, root, commandLine(step.ShellDependantCmdLine), log)
		})
	})
	if err != nil {
		return fmt.Errorf("%w; the last lines of %s:\n%s", err, log, lastLines(log, 20))
	}
	return nil
}

func (b *builder) cacheFor(target string) string {
	return filepath.Join(b.Cache, "caches", strings.ReplaceAll(strings.Trim(target, "/"), "/", "-"))
}

// inOwnMountNamespace runs work on a thread that has a mount namespace of its own. The thread ends with work,
// and the namespace and all mounts in it end with the thread.
func inOwnMountNamespace(work func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			done <- fmt.Errorf("making a mount namespace: %w", err)
			return
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			done <- fmt.Errorf("making mounts private: %w", err)
			return
		}
		done <- work()
	}()
	return <-done
}

// mountRoot stacks the layers, with upper on top, and mounts into them what programs need: devices, names of
// hosts, caches, and this machine's certificates and settings of apt and pip. None of it gets into the image.
func (b *builder) mountRoot(upper string, caches map[string]string) (string, error) {
	home := filepath.Dir(upper)
	root, work := filepath.Join(home, "root"), filepath.Join(home, "work")
	for _, dir := range []string{root, work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	var lower []string
	for _, l := range slices.Backward(b.done) {
		lower = append(lower, l.dir)
	}
	// Without redirects a renamed folder is copied, and the layer is complete by itself.
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,redirect_dir=off,index=off,metacopy=off", strings.Join(lower, ":"), upper, work)
	if err := unix.Mount("overlay", root, "overlay", 0, options); err != nil {
		return "", fmt.Errorf("stacking the layers with overlayfs: %w", err)
	}
	if err := mountSystem(root); err != nil {
		return "", err
	}
	for target, dir := range caches {
		if err := bind(dir, filepath.Join(root, target), true); err != nil {
			return "", err
		}
	}
	return root, lendSettings(filepath.Join(root, "run"))
}

func mountSystem(root string) error {
	for _, m := range []struct{ source, target, kind string }{
		{"proc", "proc", "proc"}, {"tmpfs", "run", "tmpfs"}, {"tmpfs", "tmp", "tmpfs"},
	} {
		if err := unix.Mount(m.source, filepath.Join(root, m.target), m.kind, 0, ""); err != nil {
			return fmt.Errorf("mounting /%s: %w", m.target, err)
		}
	}
	if err := os.Chmod(filepath.Join(root, "tmp"), 0o777|os.ModeSticky); err != nil {
		return err
	}
	if err := unix.Mount("/dev", filepath.Join(root, "dev"), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mounting /dev: %w", err)
	}
	for _, file := range []string{"etc/resolv.conf", "etc/hosts"} {
		if err := bind("/"+file, filepath.Join(root, file), false); err != nil {
			return err
		}
	}
	return nil
}

// bind shows source, a folder that is made if need be, or a file, at target. The folder target stays in the layer.
func bind(source, target string, folder bool) error {
	if folder {
		for _, dir := range []string{source, target} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s at %s: %w", source, target, err)
	}
	return nil
}

func (b *builder) chroot(ctx context.Context, root string, line []string, log string) error {
	file, err := os.Create(log)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	cmd := exec.CommandContext(ctx, "/usr/bin/env", append([]string{"--"}, line...)...)
	cmd.Dir = filepath.Join("/", b.config.workdir)
	cmd.Env = slices.Concat(lentEnvironment(), []string{"HOME=/root", "DEBIAN_FRONTEND=noninteractive"}, b.config.env)
	cmd.Stdout, cmd.Stderr = file, file
	endWhole(cmd)
	cmd.SysProcAttr.Chroot = root
	return cmd.Run()
}

// endWhole has the end of the command's context end its children as well.
func endWhole(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
}

// lastLines returns the end of a log, or why it cannot be read.
func lastLines(log string, count int) string {
	text, err := os.ReadFile(log)
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	lines := bytes.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	return string(bytes.Join(lines[max(0, len(lines)-count):], []byte("\n")))
}
