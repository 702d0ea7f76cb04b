package realnode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	cgroups = "/sys/fs/cgroup"
	// system is the node's own processes, beside those of its pods: version 2 wants no processes in a group that has groups.
	system = "system"
)

// controllers are those of version 2 that the kubelet hands on to pods.
var controllers = []string{"cpu", "cpuset", "io", "memory", "pids"}

// isVersion2 reports whether the machine has the one hierarchy of version 2, and not a folder of hierarchies of version 1.
func isVersion2() (bool, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(cgroups, &stat); err != nil {
		return false, fmt.Errorf("looking for cgroups: %w", err)
	}
	return stat.Type == unix.CGROUP2_SUPER_MAGIC, nil
}

// hierarchies are the folders of all hierarchies: one in version 2.
func hierarchies() ([]string, error) {
	if unified, err := isVersion2(); err != nil || unified {
		return []string{cgroups}, err
	}
	entries, err := os.ReadDir(cgroups)
	if err != nil {
		return nil, fmt.Errorf("listing the hierarchies of cgroups: %w", err)
	}
	var found []string
	for _, entry := range entries {
		if entry.IsDir() { // and no link, such as cpu to cpu,cpuacct
			found = append(found, filepath.Join(cgroups, entry.Name()))
		}
	}
	return found, nil
}

// checkCgroups returns an error that says what the machine lacks for pods.
func checkCgroups() error {
	unified, err := isVersion2()
	if err != nil {
		return err
	}
	if unified {
		content, err := os.ReadFile(filepath.Join(cgroups, "cgroup.controllers"))
		if err != nil {
			return fmt.Errorf("reading the controllers of cgroups: %w", err)
		}
		return missing(strings.Fields(string(content)), []string{"cpu", "cpuset", "memory", "pids"})
	}
	found, err := hierarchies()
	if err != nil {
		return err
	}
	var names []string
	for _, hierarchy := range found {
		names = append(names, strings.Split(filepath.Base(hierarchy), ",")...)
	}
	return missing(names, []string{"cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids"})
}

func missing(have, want []string) error {
	for _, name := range want {
		if !slices.Contains(have, name) {
			return fmt.Errorf("real nodes need the cgroup controller %q, and %s has only: %s; mount it, or use --real 0",
				name, cgroups, strings.Join(have, " "))
		}
	}
	return nil
}

// makeCgroup makes the group in every hierarchy, and in it the one of the node's own processes.
func makeCgroup(name string) error {
	found, err := hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range found {
		for _, group := range []string{filepath.Join(hierarchy, name), filepath.Join(hierarchy, name, system)} {
			if err := os.MkdirAll(group, 0o755); err != nil {
				return fmt.Errorf("making cgroup %s: %w", group, err)
			}
			if err := fill(group); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill gives a group what its processes need: in version 1 CPUs and memory nodes, which a new cpuset has none of; in version 2 the
// controllers for its children.
func fill(group string) error {
	if isUnifiedGroup(group) {
		if filepath.Base(group) == system {
			return nil
		}
		return delegate(group)
	}
	for _, setting := range []string{"cpuset.cpus", "cpuset.mems"} {
		inherited, err := os.ReadFile(filepath.Join(filepath.Dir(group), setting))
		if errors.Is(err, fs.ErrNotExist) {
			continue // not the hierarchy of cpusets
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(group, setting), inherited, 0o644)
		}
		if err != nil {
			return fmt.Errorf("giving cgroup %s its %s: %w", group, setting, err)
		}
	}
	return nil
}

func isUnifiedGroup(group string) bool {
	_, err := os.Stat(filepath.Join(group, "cgroup.subtree_control"))
	return err == nil
}

// delegate lets the group's children use the controllers that the group has.
func delegate(group string) error {
	have, err := os.ReadFile(filepath.Join(group, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("reading the controllers of cgroup %s: %w", group, err)
	}
	for _, controller := range strings.Fields(string(have)) {
		if !slices.Contains(controllers, controller) {
			continue
		}
		if err := os.WriteFile(filepath.Join(group, "cgroup.subtree_control"), []byte("+"+controller), 0o644); err != nil {
			return fmt.Errorf("handing controller %s on to the pods in cgroup %s: %w", controller, group, err)
		}
	}
	return nil
}

// enterCgroup moves the calling process into the node's group of system processes.
func enterCgroup(name string) error {
	found, err := hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range found {
		// 0 is the writer itself, whatever its number is in its pid namespace.
		if err := os.WriteFile(filepath.Join(hierarchy, name, system, "cgroup.procs"), []byte("0"), 0o644); err != nil {
			return fmt.Errorf("entering cgroup %s: %w", name, err)
		}
	}
	return nil
}

// RemoveCgroup kills what still runs in the group, below it too, and removes it from every hierarchy. It is no error if there is none.
func RemoveCgroup(name string) error {
	found, err := hierarchies()
	if err != nil {
		return err
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		var failures []error
		for _, hierarchy := range found {
			failures = append(failures, removeTree(filepath.Join(hierarchy, name)))
		}
		if err := errors.Join(failures...); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// removeTree removes a group after its children. The kernel refuses that (EBUSY) while processes of it end.
func removeTree(group string) error {
	var groups []string
	err := filepath.WalkDir(group, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			groups = append(groups, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing cgroup %s: %w", group, err)
	}
	for _, path := range slices.Backward(groups) {
		killAll(path)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing a cgroup: %w", err)
		}
	}
	return nil
}

// killAll kills the processes of one group; who cannot be killed shows when the group is removed.
func killAll(group string) {
	content, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	if err != nil {
		return
	}
	for _, field := range strings.Fields(string(content)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
