package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// local writes the operator's image for Linux on this machine's architecture as one archive, and the manifests that name it.
func (r *release) local(ctx context.Context, manifests string) error {
	if err := r.checkNames(); err != nil {
		return err
	}
	if err := r.readCommit(ctx); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	p, on := images[0], platform{"linux", runtime.GOARCH}
	binary, err := r.build(ctx, work, p, on)
	if err != nil {
		return err
	}
	image, err := r.imageOf(binary, p, on)
	if err != nil {
		return fmt.Errorf("making the image %s: %w", p.name, err)
	}
	tag := r.registry + "/" + p.name + ":" + r.version
	if err := writeArchive(image, tag, r.created, r.out); err != nil {
		return err
	}
	rendered, err := r.render("manifests/base", "", reference{tag: r.version})
	if err != nil {
		return err
	}
	fmt.Printf("%s has the image %s for %s, and %s names it\n", r.out, tag, on, manifests)
	return write(manifests, rendered)
}

// writeArchive writes an image as one file that containerd, Docker and what is built on them import. It is an OCI layout. Docker before
// version 25 does not read those, so it also has the manifest that "docker save" writes.
func writeArchive(image v1.Image, tag string, at time.Time, out string) error {
	ref, err := name.NewTag(tag, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("the image's name %q: write a name with a tag, as registry.example.com/team/operator:v0.1.0: %w", tag, err)
	}
	folder, err := os.MkdirTemp("", "layout-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return fmt.Errorf("writing the image %s: %w", tag, err)
	}
	names := map[string]string{"io.containerd.image.name": ref.Name(), "org.opencontainers.image.ref.name": ref.TagStr()}
	if err := path.AppendImage(image, layout.WithAnnotations(names)); err != nil {
		return fmt.Errorf("writing the image %s: %w", tag, err)
	}
	files, err := entriesOf(folder)
	if err != nil {
		return err
	}
	manifest, err := dockerManifest(image, ref.Name())
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := writeTar(&packed, at, append(files, entry{"manifest.json", 0o644, manifest})...); err != nil {
		return err
	}
	return write(out, packed.Bytes())
}

// entriesOf returns the files of a folder in the order of their names.
func entriesOf(folder string) ([]entry, error) {
	var files []entry
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(folder, path)
		files = append(files, entry{filepath.ToSlash(file), 0o644, content})
		return err
	})
	return files, err
}

// dockerManifest returns the manifest.json of "docker save" for the files of an OCI layout.
func dockerManifest(image v1.Image, tag string) ([]byte, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return nil, err
	}
	blob := func(digest v1.Hash) string { return strings.Join([]string{"blobs", digest.Algorithm, digest.Hex}, "/") }
	var layers []string
	for _, layer := range manifest.Layers {
		layers = append(layers, blob(layer.Digest))
	}
	return json.Marshal([]map[string]any{{"Config": blob(manifest.Config.Digest), "RepoTags": []string{tag}, "Layers": layers}})
}
