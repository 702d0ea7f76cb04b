package kubelet

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Paths replaces paths of a container by paths of this machine.
type Paths []Path

// Path is one path of a container and what it is here.
type Path struct{ From, To string }

// Sort puts longer paths first: a mount may lie within another.
func (p Paths) Sort() {
	slices.SortStableFunc(p, func(a, b Path) int { return cmp.Compare(len(b.From), len(a.From)) })
}

// Replace returns the text with every path replaced that stands alone or begins a longer one. The paths must be sorted.
func (p Paths) Replace(text string) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		i := slices.IndexFunc(p, func(path Path) bool { return path.isAt(text, at) })
		if i < 0 {
			b.WriteByte(text[at])
			at++
			continue
		}
		b.WriteString(p[i].To)
		at += len(p[i].From)
	}
	return b.String()
}

func (p Path) isAt(text string, at int) bool {
	rest, found := strings.CutPrefix(text[at:], p.From)
	return found && (at == 0 || !isOfPath(text[at-1]) && text[at-1] != '/') && (rest == "" || !isOfPath(rest[0]))
}

func isOfPath(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// mount makes the volumes of the pod and returns, for each container, its paths.
func (k *Kubelet) mount(p *pod) error {
	p.folders = map[string]string{}
	for i := range p.Spec.Volumes {
		folder, err := k.volume(p, &p.Spec.Volumes[i])
		if err != nil {
			return fmt.Errorf("volume %s: %w", p.Spec.Volumes[i].Name, err)
		}
		p.folders[p.Spec.Volumes[i].Name] = folder
	}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, m := range c.VolumeMounts {
			if path := p.mounted(m); path != "" {
				if _, err := os.Stat(path); err == nil { // a file of a ConfigMap
					continue
				}
				if err := os.MkdirAll(path, 0o755); err != nil {
					return err
				}
			}
		}
	}
	return os.MkdirAll(p.folder, 0o755)
}

// mounted returns what a mount is here; empty for a volume that the user has replaced.
func (p *pod) mounted(m corev1.VolumeMount) string {
	folder := p.folders[m.Name]
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, filepath.Join("/", m.SubPath))
}

// volume returns the folder of a volume; empty for a kind that does not exist here.
func (k *Kubelet) volume(p *pod, v *corev1.Volume) (string, error) {
	folder := filepath.Join(p.folder, "volumes", v.Name)
	switch {
	case v.EmptyDir != nil:
		return folder, os.MkdirAll(folder, 0o755)
	case v.PersistentVolumeClaim != nil:
		folder = filepath.Join(k.Folder, "claims", v.PersistentVolumeClaim.ClaimName)
		if own := k.Claims[v.PersistentVolumeClaim.ClaimName]; own != "" {
			folder = own
		}
		return folder, os.MkdirAll(folder, 0o755)
	case v.ConfigMap != nil:
		return folder, writeFiles(folder, k.ConfigMaps[v.ConfigMap.Name], v.ConfigMap.Items)
	default:
		return "", nil // the user has replaced its paths
	}
}

// writeFiles writes the keys as files; items choose and name them, and without items all are written.
func writeFiles(folder string, data map[string]string, items []corev1.KeyToPath) error {
	if len(items) == 0 {
		for _, key := range slices.Sorted(maps.Keys(data)) {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		path := filepath.Join(folder, filepath.Join("/", item.Path)) // the path stays within the folder
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(data[item.Key]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// paths returns what the paths of a container are here: its mounts, its file for a termination message, and the user's paths.
func (k *Kubelet) paths(p *pod, c *corev1.Container) Paths {
	paths := Paths{{terminationPath(c), p.terminationFile(c)}}
	for _, mount := range c.VolumeMounts {
		if path := p.mounted(mount); path != "" {
			paths = append(paths, Path{filepath.Clean(mount.MountPath), path})
		}
	}
	paths = append(slices.Clone(k.Paths), paths...) // the user's come first
	paths.Sort()
	return paths
}

func terminationPath(c *corev1.Container) string {
	return cmp.Or(c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
}

// terminationFile is the file for the termination message of a container.
func (p *pod) terminationFile(c *corev1.Container) string {
	return filepath.Join(p.folder, "termination-"+c.Name)
}
