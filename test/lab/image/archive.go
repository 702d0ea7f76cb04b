//go:build linux

package image

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// keyLabel is where an image says from which steps and files it was made.
const keyLabel = "trainingjob.dev/lab-image-key"

// archive writes the image, unless the file there is this image already.
func (b *builder) archive() error {
	key := b.key("image", fmt.Sprint(b.config))
	if old, err := tarball.ImageFromPath(b.Out, &b.tag); err == nil {
		if file, err := old.ConfigFile(); err == nil && file.Config.Labels[keyLabel] == key {
			_, _ = fmt.Fprintf(b.out, "%s is up to date\n", b.Out)
			return nil
		}
	}
	img, err := b.image(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(b.Out), 0o755); err != nil {
		return err
	}
	err = b.watched("wrote "+b.Out, func() string { return "" }, func() error {
		if err := tarball.WriteToFile(b.Out+".new", b.tag, img); err != nil {
			return err
		}
		return os.Rename(b.Out+".new", b.Out)
	})
	if err != nil {
		return fmt.Errorf("writing %s: %w", b.Out, err)
	}
	return nil
}

func (b *builder) image(key string) (v1.Image, error) {
	var layers []v1.Layer
	for _, l := range b.done {
		packed, err := tarball.LayerFromFile(l.tar)
		if err != nil {
			return nil, fmt.Errorf("reading layer %s: %w", l.key, err)
		}
		layers = append(layers, packed)
	}
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Created = v1.Time{Time: time.Now()}
	file.Config.Env = b.config.env
	file.Config.WorkingDir = b.config.workdir
	file.Config.Entrypoint = b.config.entrypoint
	file.Config.Cmd = b.config.cmd
	file.Config.Labels = map[string]string{keyLabel: key}
	return mutate.ConfigFile(img, file)
}
