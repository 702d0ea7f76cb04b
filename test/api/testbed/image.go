package testbed

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
)

// WriteImage writes an archive, as "docker save" does, of an image of that name with one static program, which it runs.
func WriteImage(archive, name, program string) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("reading the program of image %s: %w", name, err)
	}
	layer, err := tarOf(file{"program", 0o755, content})
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/program"}, "User": "65532:65532"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	whole, err := tarOf(file{"config.json", 0o644, config}, file{"layer.tar", 0o644, layer}, file{"manifest.json", 0o644, manifest})
	if err != nil {
		return err
	}
	return os.WriteFile(archive, whole, 0o600)
}

type file struct {
	name    string
	mode    int64
	content []byte
}

func tarOf(files ...file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content))}); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
