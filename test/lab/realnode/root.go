package realnode

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// settings of the kernel that the kubelet checks and sets. The machine shares them with the node, so the node finds files of its
// own in their place.
var settings = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// mount is one call of mount(2), with the target below the node's root.
type mount struct {
	source, target, kind string
	flags                uintptr
}

// changeRoot makes the node's disk the root of the calling process's mount namespace, with what the node needs of the machine
// mounted on it, and lets go of the machine's own file systems.
func (n Node) changeRoot() error {
	// Before the first mount: on many machines what is mounted in a new namespace appears in the machine's own as well.
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("parting the node's mounts from the machine's: %w", err)
	}
	for _, m := range n.mounts() {
		target := filepath.Join(n.root(), m.target)
		if err := unix.Mount(m.source, target, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mounting %s on %s: %w", m.source, target, err)
		}
	}
	if err := n.hideSettings(); err != nil {
		return err
	}
	if err := unix.PivotRoot(n.root(), filepath.Join(n.root(), "old")); err != nil {
		return fmt.Errorf("changing the node's root to %s: %w", n.root(), err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := unix.Unmount("/old", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("letting go of the machine's root: %w", err)
	}
	// The kubelet and containerd want to see each other's mounts in their containers.
	if err := unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("sharing the node's mounts with its containers: %w", err)
	}
	return nil
}

func (n Node) mounts() []mount {
	const all = unix.MS_BIND | unix.MS_REC
	return []mount{
		{n.root(), "", "", unix.MS_BIND},
		{"/usr", "usr", "", all},
		{"", "usr", "", unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY},
		{n.Packages, "opt/node", "", all},
		{n.Shared, "shared", "", unix.MS_BIND},
		{n.Lab, "opt/lab/lab", "", unix.MS_BIND},
		{cmp.Or(n.Kubelet, n.Lab), "opt/lab/kubelet", "", unix.MS_BIND},
		{"/dev", "dev", "", all},
		{"proc", "proc", "proc", 0},
		{"sysfs", "sys", "sysfs", 0},
		{"/sys/fs/cgroup", "sys/fs/cgroup", "", all},
		{"tmpfs", "run", "tmpfs", 0},
		{"tmpfs", "tmp", "tmpfs", 0},
	}
}

// hideSettings puts private files over the settings, and over the id of the machine's boot.
func (n Node) hideSettings() error {
	hidden := maps.Clone(settings)
	hidden["kernel/random/boot_id"] = n.BootID
	for name, value := range hidden {
		file := filepath.Join(n.root(), "var/lib/sysctl", filepath.Base(filepath.Dir(name))+"-"+filepath.Base(name))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return fmt.Errorf("writing a private %s: %w", name, err)
		}
		if err := unix.Mount(file, filepath.Join(n.root(), "proc/sys", name), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting a private %s: %w", name, err)
		}
	}
	return nil
}
