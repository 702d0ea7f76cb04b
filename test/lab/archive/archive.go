// Package archive writes and reads image archives ("docker save"), which containerd imports without a registry.
package archive

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// OfProgram writes the archive of an image that holds one static program, /NAME, and runs it.
func OfProgram(image, program, path string) error {
	tag, err := name.NewTag(image, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("naming an image: %w", err)
	}
	layer, err := layerOf(program)
	if err != nil {
		return err
	}
	built, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return fmt.Errorf("making image %s: %w", image, err)
	}
	file, err := built.ConfigFile()
	if err != nil {
		return fmt.Errorf("making image %s: %w", image, err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Config = v1.Config{Entrypoint: []string{"/program"}, WorkingDir: "/"}
	if built, err = mutate.ConfigFile(built, file); err != nil {
		return fmt.Errorf("making image %s: %w", image, err)
	}
	if err := tarball.WriteToFile(path, tag, built); err != nil {
		return fmt.Errorf("writing image %s: %w", image, err)
	}
	return nil
}

// layerOf is a layer with the program, for everybody to run, and a folder /tmp.
func layerOf(program string) (v1.Layer, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("reading the program of an image: %w", err)
	}
	var files bytes.Buffer
	writer := tar.NewWriter(&files)
	for _, header := range []*tar.Header{
		{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777},
		{Name: "program", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))},
	} {
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("packing %s: %w", program, err)
		}
	}
	if _, err := writer.Write(content); err != nil {
		return nil, fmt.Errorf("packing %s: %w", program, err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("packing %s: %w", program, err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	})
}

// Image is one image of an archive.
type Image struct {
	// Names are those under which it is imported.
	Names []string
	// ID is the digest of its configuration, by which a runtime knows it.
	ID string
}

// Read lists the images of an archive.
func Read(path string) ([]Image, error) {
	open := func() (io.ReadCloser, error) { return os.Open(path) }
	manifest, err := tarball.LoadManifest(open)
	if err != nil {
		return nil, fmt.Errorf("reading image archive %s: %w (it has to be one that \"docker save\" or lab image build writes)", path, err)
	}
	var images []Image
	for _, described := range manifest {
		if len(described.RepoTags) == 0 {
			return nil, fmt.Errorf("image archive %s has an image without a name: save it by name, or tag it before", path)
		}
		tag, err := name.NewTag(described.RepoTags[0])
		if err != nil {
			return nil, fmt.Errorf("reading image archive %s: %w", path, err)
		}
		image, err := tarball.Image(open, &tag)
		if err != nil {
			return nil, fmt.Errorf("reading image archive %s: %w", path, err)
		}
		id, err := image.ConfigName()
		if err != nil {
			return nil, fmt.Errorf("reading image archive %s: %w", path, err)
		}
		images = append(images, Image{Names: described.RepoTags, ID: id.String()})
	}
	return images, nil
}
