package kubelet

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// environment returns the variables of a container: of this program, then of its ConfigMaps, then its own. A later one wins, and may
// refer to earlier ones of the container, as $(NAME). own are the container's variables alone.
func (k *Kubelet) environment(pod *corev1.Pod, c *corev1.Container, translate func(variable, text string) string) (list []string, own map[string]string, err error) {
	own = map[string]string{}
	var order []string
	set := func(name, value string) {
		if _, known := own[name]; !known {
			order = append(order, name)
		}
		own[name] = value
	}
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef == nil {
			continue
		}
		data := k.ConfigMaps[from.ConfigMapRef.Name]
		for _, name := range slices.Sorted(maps.Keys(data)) {
			set(from.Prefix+name, translate(name, data[name]))
		}
	}
	for i := range c.Env {
		v := &c.Env[i]
		value, found, err := k.valueOf(pod, c, v)
		if err != nil {
			return nil, nil, fmt.Errorf("variable %s: %w", v.Name, err)
		}
		if v.ValueFrom == nil {
			value, found = Expand(v.Value, own), true
		}
		if found {
			set(v.Name, translate(v.Name, value))
		}
	}
	list = slices.Concat(os.Environ(), []string{"HOSTNAME=" + pod.Spec.Hostname})
	for _, name := range order {
		list = append(list, name+"="+own[name])
	}
	return list, own, nil
}

// valueOf returns the value that a variable takes from elsewhere; found is false if an optional key is missing.
func (k *Kubelet) valueOf(pod *corev1.Pod, c *corev1.Container, v *corev1.EnvVar) (value string, found bool, err error) {
	switch from := v.ValueFrom; {
	case from == nil:
		return "", false, nil
	case from.FieldRef != nil:
		value, err = field(pod, from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = amount(c, from.ResourceFieldRef)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		value, found = k.ConfigMaps[from.ConfigMapKeyRef.Name][from.ConfigMapKeyRef.Key]
		return value, found, nil
	default:
		return "", false, errors.New("only fields, resources and keys of ConfigMaps can be its source here")
	}
}

// field returns a field of the pod by its path, of those that a variable may refer to.
func field(pod *corev1.Pod, path string) (string, error) {
	if kind, rest, isKeyed := strings.Cut(path, "['"); isKeyed {
		key := strings.TrimSuffix(rest, "']")
		switch kind {
		case "metadata.labels":
			return pod.Labels[key], nil
		case "metadata.annotations":
			return pod.Annotations[key], nil
		}
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs":
		return pod.Status.PodIP, nil
	case "status.hostIP", "status.hostIPs":
		return hostIP, nil
	default:
		return "", fmt.Errorf("there is no field %s", path)
	}
}

// hostIP is the address of every node.
const hostIP = "127.0.0.1"

// amount returns a limit or request of the container in whole divisors, rounded up. Without a CPU limit it is the number of CPUs here.
func amount(c *corev1.Container, ref *corev1.ResourceFieldSelector) (string, error) {
	kind, name, _ := strings.Cut(ref.Resource, ".")
	list := c.Resources.Limits
	if kind == "requests" {
		list = c.Resources.Requests
	}
	quantity, isSet := list[corev1.ResourceName(name)]
	switch {
	case !isSet && name == string(corev1.ResourceCPU):
		return strconv.Itoa(runtime.NumCPU()), nil
	case !isSet:
		return "", fmt.Errorf("the container has no %s: write one into its resources", ref.Resource)
	}
	value, divisor := quantity.MilliValue(), ref.Divisor.MilliValue()
	if divisor == 0 {
		divisor = 1000
	}
	return strconv.FormatInt((value+divisor-1)/divisor, 10), nil
}

// Expand replaces $(NAME) by the variable of that name, as Kubernetes does: an unknown one stays, and $$ is $.
func Expand(text string, variables map[string]string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 || at == len(text)-1 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:at])
		text = text[at+1:]
		end := strings.IndexByte(text, ')')
		switch {
		case text[0] == '$':
			b.WriteByte('$')
			text = text[1:]
		case text[0] == '(' && end > 0:
			if value, known := variables[text[1:end]]; known {
				b.WriteString(value)
			} else {
				b.WriteString("$" + text[:end+1])
			}
			text = text[end+1:]
		default:
			b.WriteByte('$')
		}
	}
}

// values returns the variables by name.
func values(environment []string) map[string]string {
	all := map[string]string{}
	for _, pair := range environment {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	return all
}

// lookPath finds the program in the folders of the container's own PATH.
func lookPath(program, folder string, environment []string) (string, error) {
	if strings.Contains(program, "/") {
		if !filepath.IsAbs(program) && folder != "" {
			program = filepath.Join(folder, program)
		}
		return exec.LookPath(program)
	}
	for _, dir := range filepath.SplitList(values(environment)["PATH"]) {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path, nil
		}
	}
	return "", &exec.Error{Name: program, Err: exec.ErrNotFound}
}
