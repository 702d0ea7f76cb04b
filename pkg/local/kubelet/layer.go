package kubelet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A life of a container begins with the files of the image. Here it begins with the files of a folder of this machine, its root. It has a
// layer of its own over the root, and the next life begins without that layer.
//
//	overlay  the kernel mounts it over the root, for this life alone; its files are what the life has changed
//	copied   it is a copy of the root, in whose place commands, arguments and variables have it
//	shared   there is none: lives write into the root

// layering is the kind of a layer.
type layering int

const (
	shared layering = iota
	copied
	overlay
)

// The largest root that lives get copies of.
const (
	mostCopied      = 1 << 30 // bytes
	mostFilesCopied = 100_000
)

// layer is the files of one life.
type layer struct {
	kind layering
	// root is the folder that it covers, keep the folders in it that it does not: volumes, and the run's own.
	root string
	keep []string
	// folder has its files.
	folder string
	// copied are the files of a copy, as they began.
	copied map[string]stamp
}

// stamp changes with a file.
type stamp struct {
	size int64
	time time.Time
}

// beginLayer returns the layer for a life that begins now of a container in that working directory, and removes the layer of the life before.
func (k *Kubelet) beginLayer(pod *corev1.Pod, c *corev1.Container, folder string) (*layer, error) {
	l := &layer{root: k.Root}
	if filepath.IsAbs(folder) && !isWithin(k.Root, folder) && !isWithin(k.Folder, folder) {
		l.root = filepath.Clean(folder)
	}
	l.keep = k.kept(l.root, pod)
	kind, known := k.kinds[l.root]
	if !known {
		kind = k.kindOf(l)
		k.kinds[l.root] = kind
	}
	if l.kind = kind; kind == shared {
		return l, nil
	}
	if err := os.MkdirAll(k.layersFolder, 0o700); err != nil {
		return nil, err
	}
	var err error
	if l.folder, err = os.MkdirTemp(k.layersFolder, pod.Name+"-"); err != nil {
		return nil, err
	}
	owner := pod.Spec.Hostname + "/" + c.Name
	if before := k.layers[owner]; before != nil {
		before.discard()
	}
	k.layers[owner] = l
	return l, l.fill()
}

// kept returns the folders in the root that are no part of layers.
func (k *Kubelet) kept(root string, pod *corev1.Pod) []string {
	list := append(slices.Collect(maps.Values(k.Claims)), k.Folder)
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, m := range c.VolumeMounts {
			if i := slices.IndexFunc(k.Paths, func(p Path) bool { return p.From == filepath.Clean(m.MountPath) }); i >= 0 {
				list = append(list, k.Paths[i].To)
			}
		}
	}
	list = slices.DeleteFunc(list, func(path string) bool { return !isWithin(root, path) })
	slices.Sort(list)
	return slices.Compact(list)
}

// kindOf returns which layers the root can have here, and shows what that means.
func (k *Kubelet) kindOf(l *layer) layering {
	switch {
	case l.root == "" || l.root == "/" || k.layersFolder == "" || slices.Contains(l.keep, l.root):
		return shared
	case canOverlay(l.root, k.layersFolder):
		k.Say("Each life of a replica begins with the files that " + l.root + " has now. After a restart, what it wrote there is gone, as in a container. The files of the last lives are copied back at the end.")
		return overlay
	}
	err := l.measure()
	if err == nil {
		k.Say("Each life of a replica has its own copy of " + l.root + ". After a restart, what it wrote there is gone, as in a container. The files of the last lives are copied back at the end.")
		return copied
	}
	k.Say(fmt.Sprintf("Unlike in a container, what a program writes in %s is still there after a restart: this machine mounts no overlayfs for you, and it cannot be copied for each life: %v.", l.root, err))
	return shared
}

var errTooLarge = fmt.Errorf("it has more than 1 GB or %d files", mostFilesCopied)

// measure returns an error about a root that is too large for copies.
func (l *layer) measure() error {
	bytes, files := int64(0), 0
	return l.walk(l.root, func(_ string, _ string, e fs.DirEntry) error {
		if files++; e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				bytes += info.Size()
			}
		}
		if bytes > mostCopied || files > mostFilesCopied {
			return errTooLarge
		}
		return nil
	})
}

// walk visits the files below a folder that stands for the root, each with its path in the root. It leaves out folders that are kept, and
// folders of tools that no training changes. The folder may be a link.
func (l *layer) walk(folder string, visit func(path, inRoot string, e fs.DirEntry) error) error {
	return filepath.WalkDir(folder+"/", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inRoot := filepath.Join(l.root, strings.TrimPrefix(path, folder))
		if e.IsDir() && l.isKept(inRoot) {
			return fs.SkipDir
		}
		return visit(path, inRoot, e)
	})
}

// isKept reports whether the folder is no part of the layer.
func (l *layer) isKept(path string) bool {
	if path == l.root || slices.Contains(l.keep, path) {
		return path != l.root
	}
	_, err := os.Stat(filepath.Join(path, "pyvenv.cfg"))
	return l.kind == copied && (filepath.Base(path) == ".git" || err == nil)
}

// fill makes the files with which the life begins.
func (l *layer) fill() error {
	if l.kind == overlay {
		return errors.Join(os.Mkdir(l.upper(), 0o755), os.Mkdir(l.work(), 0o755))
	}
	l.copied = map[string]stamp{}
	err := l.walk(l.root, func(path, _ string, e fs.DirEntry) error {
		to := l.folder + strings.TrimPrefix(path, l.root)
		if err := copyFile(path, to, e); err != nil {
			return err
		}
		if info, err := os.Lstat(to); err == nil {
			l.copied[path] = stamp{info.Size(), info.ModTime()}
		}
		if !e.IsDir() {
			return nil
		}
		return l.linkKept(path, to)
	})
	if err != nil {
		return fmt.Errorf("copying %s: %w", l.root, err)
	}
	return nil
}

// linkKept has the copy of a folder lead to the folders in it that are no part of the layer.
func (l *layer) linkKept(path, to string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if inner := filepath.Join(path, e.Name()); e.IsDir() && l.isKept(inner) {
			err = errors.Join(err, os.Symlink(inner, filepath.Join(to, e.Name())))
		}
	}
	return err
}

// discard removes the files of the life.
func (l *layer) discard() {
	_ = os.Chmod(filepath.Join(l.work(), "work"), 0o700) // the kernel makes it unreadable
	_ = os.RemoveAll(l.folder)                           // the rest goes with the folder of the run
}

func (l *layer) upper() string { return filepath.Join(l.folder, "upper") }
func (l *layer) work() string  { return filepath.Join(l.folder, "work") }

// paths returns what paths of the root are for this life.
func (l *layer) paths() Paths {
	if l.kind != copied {
		return nil
	}
	paths := Paths{{l.root, l.folder}}
	for _, path := range l.keep {
		paths = append(paths, Path{path, path})
	}
	paths.Sort()
	return paths
}

// place has the command run in the layer.
func (l *layer) place(cmd *exec.Cmd) {
	switch {
	case l.kind == overlay:
		enter(cmd, l)
	case l.kind == copied && cmd.Dir == "":
		cmd.Dir = l.folder
	}
}

// CopyBack copies what the last lives have changed into their roots. Of a file that several have changed, the one of the pod with that host
// name stays. Files that cannot be copied stay where they are, and the error names them.
func (k *Kubelet) CopyBack(first string) error {
	owners := slices.SortedFunc(maps.Keys(k.layers), func(a, b string) int {
		isFirst := func(owner string) int {
			if strings.HasPrefix(owner, first+"/") {
				return 1
			}
			return 0
		}
		if d := isFirst(a) - isFirst(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var all error
	for _, owner := range owners {
		l := k.layers[owner]
		if err := l.copyBack(); err != nil {
			all = errors.Join(all, fmt.Errorf("files of %s, which stay in %s: %w", owner, l.folder, err))
			continue
		}
		l.discard()
	}
	_ = os.Remove(k.layersFolder) // with files that were not copied it stays
	return all
}

// copyBack copies what the life has changed into the root. It deletes nothing there; a folder takes the place of a file or link of its name. What
// cannot be copied stops no other file.
func (l *layer) copyBack() error {
	from, failed := l.folder, error(nil)
	if l.kind == overlay {
		from = l.upper()
	}
	err := l.walk(from, func(path, inRoot string, e fs.DirEntry) error {
		info, err := e.Info()
		if err != nil || inRoot == l.root || l.copied[inRoot] == (stamp{info.Size(), info.ModTime()}) {
			return err
		}
		if target, err := os.Readlink(path); err == nil && target == inRoot { // a folder that is no part of the layer
			return nil
		}
		if there, err := os.Lstat(inRoot); err == nil && e.IsDir() && !there.IsDir() {
			failed = errors.Join(failed, os.Remove(inRoot))
		}
		failed = errors.Join(failed, copyFile(path, inRoot, e))
		return nil
	})
	return errors.Join(failed, err)
}

// copyFile copies a file or link, or makes a folder. It leaves out devices, which stand for deleted files, and sockets.
func copyFile(from, to string, e fs.DirEntry) error {
	info, err := e.Info()
	switch {
	case err != nil:
		return err
	case e.IsDir():
		if _, err := os.Stat(to); err == nil {
			return nil
		}
		return os.MkdirAll(to, info.Mode().Perm()|0o700)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		_ = os.Remove(to) // without it the next line fails
		return os.Symlink(target, to)
	case !info.Mode().IsRegular():
		return nil
	}
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrPermission) { // the program cannot read it either
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".tj-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(info.Mode().Perm()), out.Close(), os.Chtimes(out.Name(), time.Time{}, info.ModTime()))
	if err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		_ = os.Remove(out.Name()) // the error is reported
	}
	return err
}

// isWithin reports whether the path is the folder or in it.
func isWithin(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}
