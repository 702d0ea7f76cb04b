package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name    string
	mode    int64
	content []byte
}

// writeTar writes the files, all of one time and of the user 0, so that the same files make the same archive.
func writeTar(out io.Writer, at time.Time, files ...entry) error {
	writer := tar.NewWriter(out)
	for _, file := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: file.name, Mode: file.mode, Size: int64(len(file.content)), ModTime: at, Format: tar.FormatPAX}
		if err := writer.WriteHeader(header); err != nil {
			return fmt.Errorf("packing %s: %w", file.name, err)
		}
		if _, err := writer.Write(file.content); err != nil {
			return fmt.Errorf("packing %s: %w", file.name, err)
		}
	}
	return writer.Close()
}

// writeTarGz writes the files as a compressed archive.
func (r *release) writeTarGz(path string, files ...entry) error {
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := writeTar(zipped, r.created, files...); err != nil {
		return err
	}
	if err := zipped.Close(); err != nil {
		return err
	}
	return write(path, out.Bytes())
}

// completionProgram is what kubectl runs to complete the arguments of kubectl tj.
const completionProgram = "kubectl_complete-tj"

// plugin writes an archive of kubectl-tj for each platform.
func (r *release) plugin(ctx context.Context, work string) error {
	license, err := os.ReadFile(filepath.Join(r.tree, "LICENSE"))
	if err != nil {
		return err
	}
	completion, err := os.ReadFile(filepath.Join(r.tree, "cmd", "kubectl-tj", completionProgram))
	if err != nil {
		return err
	}
	for _, on := range r.platforms {
		binary, err := r.build(ctx, work, pluginProgram, on)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(binary)
		if err != nil {
			return err
		}
		file := pluginProgram.name
		if on.os == "windows" {
			file += ".exe"
		}
		archive := filepath.Join(r.out, fmt.Sprintf("kubectl-tj_%s_%s_%s.tar.gz", r.version, on.os, on.arch))
		if err := r.writeTarGz(archive, entry{"LICENSE", 0o644, license}, entry{file, 0o755, content}, entry{completionProgram, 0o755, completion}); err != nil {
			return err
		}
	}
	return nil
}

const checksumFile = "checksums.txt"

// checksums writes the SHA-256 of every file, as sha256sum -c reads it.
func (r *release) checksums() error {
	var lines []string
	err := filepath.WalkDir(r.out, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(r.out, path)
		sum := sha256.Sum256(content)
		lines = append(lines, hex.EncodeToString(sum[:])+"  "+filepath.ToSlash(file)+"\n")
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return write(filepath.Join(r.out, checksumFile), []byte(strings.Join(lines, "")))
}
