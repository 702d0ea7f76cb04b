//go:build linux

package image

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/go-archive"
	"github.com/moby/go-archive/compression"
)

// A layer is what one step has changed: a folder, which overlayfs stacks on others, and the same as a tar, which
// images consist of. In the folder overlayfs marks what was deleted; in the tar names do, as images want it.
type layer struct {
	key, dir, tar string
}

// key returns the name of the layer that a step makes: it changes with the step and with every step before it.
func (b *builder) key(parts ...string) string {
	if len(b.done) > 0 {
		parts = append([]string{b.done[len(b.done)-1].key}, parts...)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:12])
}

// add takes the layer of that key from the cache or else has fill make its folder.
func (b *builder) add(key string, fill func(upper string) error) error {
	l, err := b.layer(key, fill)
	if err != nil {
		return err
	}
	b.done = append(b.done, l)
	return nil
}

func (b *builder) layer(key string, fill func(upper string) error) (layer, error) {
	home := filepath.Join(b.Cache, "layers", key)
	l := layer{key: key, dir: filepath.Join(home, "files"), tar: filepath.Join(home, "layer.tar.gz")}
	if _, err := os.Stat(home); err == nil {
		return l, nil
	}
	// Whatever an interrupted build has left there is of no use.
	if err := os.RemoveAll(home + ".new"); err != nil {
		return layer{}, err
	}
	if err := os.MkdirAll(filepath.Join(home+".new", "files"), 0o755); err != nil {
		return layer{}, err
	}
	if err := fill(filepath.Join(home+".new", "files")); err != nil {
		return layer{}, err
	}
	if err := b.pack(home + ".new"); err != nil {
		return layer{}, fmt.Errorf("packing the layer: %w", err)
	}
	return l, os.Rename(home+".new", home)
}

func (b *builder) pack(home string) error {
	files, err := archive.TarWithOptions(filepath.Join(home, "files"), &archive.TarOptions{
		Compression: compression.None, WhiteoutFormat: archive.OverlayWhiteoutFormat,
	})
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	tar, err := os.Create(filepath.Join(home, "layer.tar.gz"))
	if err != nil {
		return err
	}
	zip, err := gzip.NewWriterLevel(tar, gzip.BestSpeed)
	if err != nil {
		return err
	}
	_, err = io.Copy(zip, files)
	return errors.Join(err, zip.Close(), tar.Close())
}

// copy puts files of the context into the layer.
func (b *builder) copy(step *instructions.CopyCommand, upper string) error {
	target := step.DestPath
	if !filepath.IsAbs(target) {
		target = filepath.Join("/", b.config.workdir, target)
	}
	target = filepath.Join(upper, target)
	into := strings.HasSuffix(step.DestPath, "/") || len(step.SourcePaths) > 1 || step.DestPath == "."
	for _, source := range step.SourcePaths {
		to := target
		from := filepath.Join(b.Dir, source)
		info, err := os.Stat(from)
		if err != nil {
			return err
		}
		if info.IsDir() {
			if err := os.CopyFS(to, os.DirFS(from)); err != nil {
				return err
			}
			continue
		}
		if into {
			to = filepath.Join(target, filepath.Base(source))
		}
		if err := copyFile(from, to, info.Mode()); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string, mode fs.FileMode) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, mode.Perm())
}

// digest returns a hash over names, modes and contents of what is copied.
func digest(dir string, sources []string) (string, error) {
	sum := sha256.New()
	for _, source := range sources {
		if !filepath.IsLocal(source) {
			return "", fmt.Errorf("%s is not in the folder of the Dockerfile", source)
		}
		err := filepath.WalkDir(filepath.Join(dir, source), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(sum, "%s %s %d\n%s", path[len(dir):], info.Mode(), len(content), content)
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
