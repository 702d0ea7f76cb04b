package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// image writes images/NAME, an OCI layout of one index with an image for each platform, and returns the digest of the index. An image
// is one static program and nothing else.
func (r *release) image(ctx context.Context, work string, p program) (string, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, on := range r.platforms {
		if on.os != "linux" {
			continue
		}
		binary, err := r.build(ctx, work, p, on)
		if err != nil {
			return "", err
		}
		image, err := r.imageOf(binary, p, on)
		if err != nil {
			return "", fmt.Errorf("making the image %s: %w", p.name, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: on.os, Architecture: on.arch}},
		})
	}
	index = mutate.Annotations(index, r.labels(p)).(v1.ImageIndex)
	path, err := layout.Write(filepath.Join(r.out, "images", p.name), empty.Index)
	if err != nil {
		return "", fmt.Errorf("writing the image %s: %w", p.name, err)
	}
	tag := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version})
	if err := path.AppendIndex(index, tag); err != nil {
		return "", fmt.Errorf("writing the image %s: %w", p.name, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return "", err
	}
	return digest.String(), nil
}

// imageOf returns the image of a static program: as the Dockerfile makes it.
func (r *release) imageOf(binary string, p program, on platform) (v1.Image, error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	if err := writeTar(&files, r.created, entry{name: p.name, mode: 0o555, content: content}); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: r.created}
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "make release"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = on.os, on.arch, created
	config.Config = v1.Config{Entrypoint: []string{"/" + p.name}, User: "65532:65532", Labels: r.labels(p)}
	return mutate.ConfigFile(image, config)
}

// labels are the image's, by the names of OCI.
func (r *release) labels(p program) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title": p.title, prefix + "description": p.description, prefix + "licenses": "Apache-2.0", prefix + "source": source,
		prefix + "version": r.version, prefix + "revision": r.revision, prefix + "created": r.created.Format(time.RFC3339),
	}
}

// imageIn returns the image of a platform in a layout that image has written.
func imageIn(folder, on string) (v1.Image, error) {
	outer, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, fmt.Errorf("--layout %s: %w", folder, err)
	}
	list, err := outer.IndexManifest()
	if err != nil || len(list.Manifests) != 1 {
		return nil, fmt.Errorf("--layout %s: this is no layout of make release", folder)
	}
	inner, err := outer.ImageIndex(list.Manifests[0].Digest)
	if err != nil {
		return nil, err
	}
	if list, err = inner.IndexManifest(); err != nil {
		return nil, err
	}
	var known []string
	for _, m := range list.Manifests {
		if m.Platform.String() == on {
			return inner.Image(m.Digest)
		}
		known = append(known, m.Platform.String())
	}
	return nil, fmt.Errorf("--platform %q: write one of %s", on, strings.Join(known, ", "))
}
