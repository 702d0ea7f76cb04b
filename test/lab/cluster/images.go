package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/trainingjob/operator/test/lab/archive"
	"github.com/trainingjob/operator/test/lab/realnode"
)

// ImportImage loads an image archive into all real nodes of the lab in a folder.
func ImportImage(ctx context.Context, path, file string, out io.Writer) error {
	dir, state, err := runningLab(path)
	if err != nil {
		return err
	}
	if state.Real == nil {
		return errors.New("the lab has no real nodes, and fake ones run no images: start one with lab up --real 2")
	}
	return importImage(ctx, dir, state, file, func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) })
}

// RemoveImage removes an image from one real node of the lab in a folder.
func RemoveImage(ctx context.Context, path, image, node string, out io.Writer) error {
	dir, state, err := runningLab(path)
	if err != nil {
		return err
	}
	i, err := state.realIndex(node)
	if err != nil {
		return err
	}
	runtime, err := dir.runtime(i, state)
	if err != nil {
		return err
	}
	defer runtime.Close()
	if err := runtime.Remove(ctx, image); err != nil {
		return err
	}
	fmt.Fprintf(out, "image %s is not on %s any more\n", image, node)
	return nil
}

// runningLab returns the lab in a folder, an error if none runs there.
func runningLab(path string) (Dir, State, error) {
	dir, err := NewDir(path)
	if err != nil {
		return "", State{}, err
	}
	state, err := dir.readState()
	if err != nil || len(state.alive()) == 0 {
		return "", State{}, fmt.Errorf("no lab runs in %s; start one first: lab up --dir %s", dir, dir)
	}
	return dir, state, nil
}

// importImage loads an archive into all real nodes at once, but for those that have all of its images.
func importImage(ctx context.Context, dir Dir, state State, file string, say func(format string, args ...any)) error {
	begin := time.Now()
	file, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("finding the image archive: %w", err)
	}
	images, err := archive.Read(file)
	if err != nil {
		return err
	}
	var imported atomic.Int32
	group, groupCtx := errgroup.WithContext(ctx)
	for i := range state.Real.Nodes {
		group.Go(func() error {
			done, err := dir.importInto(groupCtx, i, state, file, images)
			if done {
				imported.Add(1)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, image := range images {
		say("image %s is in %d nodes (imported into %d, %.1f s)", image.Names[0], state.Real.Nodes, imported.Load(), time.Since(begin).Seconds())
	}
	return nil
}

// importInto reports whether it had to import.
func (d Dir) importInto(ctx context.Context, i int, state State, file string, images []archive.Image) (bool, error) {
	runtime, err := d.runtime(i, state)
	if err != nil {
		return false, err
	}
	defer runtime.Close()
	for _, image := range images {
		for _, name := range image.Names {
			id, err := runtime.ImageID(ctx, name)
			if err != nil {
				return false, err
			}
			if id != image.ID {
				return true, runtime.Import(ctx, file)
			}
		}
	}
	return false, nil
}

// runtime is the containerd of real node i, which has to run.
func (d Dir) runtime(i int, state State) (*realnode.Runtime, error) {
	node, err := d.realNode(i, state)
	if err != nil {
		return nil, err
	}
	running, found := state.process(node.Name)
	if !found || !running.Alive() {
		return nil, fmt.Errorf("node %s is down; boot it first: lab node boot %s", node.Name, node.Name)
	}
	return node.Runtime(running.PID)
}

// writeStandIns makes the archives of the images that every lab with real nodes has.
func (l *lab) writeStandIns() error {
	if err := os.MkdirAll(l.dir.file("images"), 0o755); err != nil {
		return fmt.Errorf("making the folder for images: %w", err)
	}
	for name, image := range standIns {
		program, err := beside(name)
		if err != nil {
			return err
		}
		if err := archive.OfProgram(image, program, l.dir.file("images/"+name+".tar")); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) standInFiles() []string {
	return []string{l.dir.file("images/pause.tar"), l.dir.file("images/trainer.tar")}
}
