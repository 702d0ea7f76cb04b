package local

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/pkg/local/kubelet"
)

// checkVolume checks that a volume exists here, or that the user has replaced each of its paths.
func (o *Options) checkVolume(spec *corev1.PodSpec, v *corev1.Volume) error {
	switch {
	case v.EmptyDir != nil, v.PersistentVolumeClaim != nil, o.isReplaced(spec, v.Name):
		return nil
	case v.ConfigMap != nil:
		if _, known := o.ConfigMaps[v.ConfigMap.Name]; known || ptr.Deref(v.ConfigMap.Optional, false) {
			return nil
		}
		return fmt.Errorf("volume %s: the file has no ConfigMap %s: add it as a document, or write --path %s=FOLDER", v.Name, v.ConfigMap.Name, pathOf(spec, v.Name))
	case v.HostPath != nil:
		return fmt.Errorf("volume %s is a hostPath, which a local run does not touch: use an emptyDir, or write --path %s=%s", v.Name, pathOf(spec, v.Name), v.HostPath.Path)
	default:
		return fmt.Errorf("volume %s: only emptyDir, persistentVolumeClaim and configMap exist here: write --path %s=FOLDER", v.Name, pathOf(spec, v.Name))
	}
}

// isReplaced reports whether the user has replaced every path of the volume.
func (o *Options) isReplaced(spec *corev1.PodSpec, volume string) bool {
	mounts := mountsOf(spec, volume)
	return len(mounts) > 0 && !slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool {
		return !slices.ContainsFunc(o.Paths, func(p kubelet.Path) bool { return p.From == filepath.Clean(m.MountPath) })
	})
}

func mountsOf(spec *corev1.PodSpec, volume string) []corev1.VolumeMount {
	var mounts []corev1.VolumeMount
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, m := range c.VolumeMounts {
			if m.Name == volume {
				mounts = append(mounts, m)
			}
		}
	}
	return mounts
}

func pathOf(spec *corev1.PodSpec, volume string) string {
	if mounts := mountsOf(spec, volume); len(mounts) > 0 {
		return mounts[0].MountPath
	}
	return "/PATH"
}

func (o *Options) checkContainer(spec *corev1.PodSpec, c *corev1.Container) (notes []string, err error) {
	if s := c.SecurityContext; s != nil && ptr.Deref(s.Privileged, false) {
		return nil, errors.New("privileged: true needs a node of a cluster: remove it; the program runs as you")
	}
	if err := o.checkSources(c); err != nil {
		return nil, err
	}
	if notes, err = o.checkCommand(c); err != nil {
		return nil, err
	}
	for _, m := range c.VolumeMounts {
		if !uses(c, o.Command, m.MountPath) && !o.isReplaced(spec, m.Name) {
			notes = append(notes, fmt.Sprintf("Container %s mounts %s, and no variable or argument of it has this path. Write --env NAME=%s if the program reads the path from a variable.", c.Name, m.MountPath, m.MountPath))
		}
	}
	if c.LivenessProbe != nil || c.ReadinessProbe != nil || c.StartupProbe != nil || c.Lifecycle != nil {
		notes = append(notes, fmt.Sprintf("Probes and hooks of container %s do not run here.", c.Name))
	}
	return notes, nil
}

// uses reports whether the path is in a variable or in the command of the container.
func uses(c *corev1.Container, fallback []string, path string) bool {
	texts := slices.Concat(c.Command, c.Args, fallback, []string{c.WorkingDir})
	for _, v := range c.Env {
		texts = append(texts, v.Value)
	}
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, filepath.Clean(path)) })
}

// checkSources checks where variables come from.
func (o *Options) checkSources(c *corev1.Container) error {
	known := func(name string, optional *bool) error {
		if _, known := o.ConfigMaps[name]; known || ptr.Deref(optional, false) {
			return nil
		}
		return fmt.Errorf("the file has no ConfigMap %s: add it as a document", name)
	}
	for _, from := range c.EnvFrom {
		switch {
		case from.SecretRef != nil:
			return fmt.Errorf("there is no Secret %s here: write --env NAME=VALUE, or set the variable in your shell, and remove envFrom", from.SecretRef.Name)
		case from.ConfigMapRef != nil:
			if err := known(from.ConfigMapRef.Name, from.ConfigMapRef.Optional); err != nil {
				return err
			}
		}
	}
	for _, v := range c.Env {
		switch from := v.ValueFrom; {
		case from == nil:
		case from.SecretKeyRef != nil:
			return fmt.Errorf("variable %s: there is no Secret %s here: write --env %s=VALUE", v.Name, from.SecretKeyRef.Name, v.Name)
		case from.ConfigMapKeyRef != nil:
			if err := known(from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional); err != nil {
				return fmt.Errorf("variable %s: %w", v.Name, err)
			}
		}
	}
	return nil
}
