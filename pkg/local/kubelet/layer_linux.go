package kubelet

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// overlayName is the name under which this program starts itself to mount a layer and then become the program of a container.
const overlayName = "kubectl-tj-layer"

// entry is what it needs for that: the layer, and the program.
type entry struct {
	Root, Upper, Work, Dir, Path string
	Keep                         []string
}

// init makes any program with this package the one that mounts a layer, if it was started for that: the tests as well.
func init() {
	if len(os.Args) < 2 || os.Args[0] != overlayName {
		return
	}
	var e entry
	err := json.Unmarshal([]byte(os.Args[1]), &e)
	if err == nil {
		err = e.mount()
	}
	if err == nil && e.Path != "" {
		_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // root has none
		err = fmt.Errorf("exec: %s: %w", e.Path, unix.Exec(e.Path, os.Args[2:], os.Environ()))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(128) // what runtimes report of a container that cannot start
	}
	os.Exit(0)
}

// mount puts the layer over its root, in the mounts of this process alone.
func (e *entry) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("mounts of its own: %w", err)
	}
	kept := map[string]int{}
	for _, path := range e.Keep {
		if f, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil { // a folder that does not exist yet is not this container's
			kept[path] = f
		}
	}
	escape := strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`).Replace
	options := "userxattr,lowerdir=" + escape(e.Root) + ",upperdir=" + escape(e.Upper) + ",workdir=" + escape(e.Work)
	if err := unix.Mount("overlay", e.Root, "overlay", 0, options); err != nil {
		return fmt.Errorf("overlay of %s: %w", e.Root, err)
	}
	for _, path := range e.Keep {
		if f, isOpen := kept[path]; isOpen {
			if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", f), path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
				return fmt.Errorf("mount of %s: %w", path, err)
			}
		}
	}
	return os.Chdir(e.Dir) // the folder that was open is the one below
}

// enter has the command start in the layer.
func enter(cmd *exec.Cmd, l *layer) {
	e := entry{Root: l.root, Upper: l.upper(), Work: l.work(), Dir: cmd.Dir, Path: cmd.Path, Keep: l.keep}
	if e.Dir == "" {
		e.Dir, _ = os.Getwd() // the root
	}
	if e.Path != "" && !filepath.IsAbs(e.Path) {
		e.Path = filepath.Join(e.Dir, e.Path)
	}
	text, err := json.Marshal(e)
	if err != nil {
		panic(err) // it is made of texts
	}
	cmd.Args = append([]string{overlayName, string(text)}, cmd.Args...)
	cmd.Path = "/proc/self/exe"
	attributes := cmd.SysProcAttr
	attributes.Cloneflags = unix.CLONE_NEWNS
	if os.Geteuid() != 0 { // a namespace in which this user may mount, with the same ids
		attributes.Cloneflags |= unix.CLONE_NEWUSER
		attributes.UidMappings = identity(os.Geteuid())
		attributes.GidMappings = identity(os.Getegid())
		attributes.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH, unix.CAP_FOWNER, unix.CAP_CHOWN, unix.CAP_FSETID, unix.CAP_MKNOD}
	}
}

// identity maps one id to itself.
func identity(id int) []syscall.SysProcIDMap {
	return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
}

// canOverlay reports whether a layer can be mounted over the root with its files in that folder.
func canOverlay(root, folder string) bool {
	l := &layer{kind: overlay, root: root, folder: filepath.Join(folder, "probe")}
	if os.MkdirAll(l.folder, 0o700) != nil || l.fill() != nil {
		return false
	}
	defer l.discard()
	cmd := &exec.Cmd{Dir: root, SysProcAttr: &syscall.SysProcAttr{}}
	enter(cmd, l)
	return cmd.Run() == nil
}
