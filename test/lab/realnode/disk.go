package realnode

import (
	"crypto/md5"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

const kubeletHealthPort = 10248

//go:embed kubelet.yaml containerd.toml cni.conflist
var templates embed.FS

// makeFolders makes those that programs expect and those that init mounts something on.
func (n Node) makeFolders() error {
	for _, folder := range []string{
		"dev", "proc", "sys", "run", "tmp", "root", "old", "shared", "usr", "opt/node", "opt/lab", "etc/kubernetes", "etc/cni/net.d",
		"var/lib/kubelet", "var/lib/containerd", "var/lib/cni", "var/lib/sysctl", "var/log/pods", "var/log/containers", "var/tmp",
	} {
		if err := os.MkdirAll(filepath.Join(n.root(), folder), 0o755); err != nil {
			return fmt.Errorf("making the disk of node %s: %w", n.Name, err)
		}
	}
	// Go's temporary folder, and that of pods which mount it from their node, is for everybody.
	return os.Chmod(filepath.Join(n.root(), "var/tmp"), 0o1777)
}

// writeConfiguration writes what is in the node's /etc, and the files that init mounts something on.
func (n Node) writeConfiguration(credentials Credentials) error {
	files := map[string][]byte{
		"etc/kubernetes/kubeconfig":  credentials.Kubeconfig,
		"etc/kubernetes/clients.crt": credentials.ClientCA,
		"etc/machine-id":             fmt.Appendf(nil, "%x\n", md5.Sum([]byte(n.Cgroup))), // 32 digits, of this node alone
		"etc/hostname":               []byte(n.Name + "\n"),
		"etc/hosts":                  []byte("127.0.0.1 localhost\n" + n.Block.Node(n.Index).String() + " " + n.Name + "\n"),
		"etc/resolv.conf":            []byte("nameserver " + n.Block.Gateway().String() + "\n"),
		"etc/passwd":                 []byte("root:x:0:0:root:/root:/bin/sh\n"),
		"etc/group":                  []byte("root:x:0:\n"),
		"opt/lab/lab":                nil,
		"opt/lab/kubelet":            nil,
	}
	for name, path := range map[string]string{
		"kubelet.yaml": "etc/kubernetes/kubelet.yaml", "containerd.toml": "etc/containerd.toml", "cni.conflist": "etc/cni/net.d/10-lab.conflist",
	} {
		content, err := n.render(name)
		if err != nil {
			return err
		}
		files[path] = content
	}
	for path, content := range files {
		if err := os.WriteFile(filepath.Join(n.root(), path), content, 0o600); err != nil {
			return fmt.Errorf("making the disk of node %s: %w", n.Name, err)
		}
	}
	return n.linkFolders()
}

func (n Node) render(name string) ([]byte, error) {
	parsed, err := template.ParseFS(templates, name)
	if err != nil {
		return nil, fmt.Errorf("reading the template %s: %w", name, err)
	}
	var text strings.Builder
	if err := parsed.Execute(&text, map[string]any{
		"Cgroup":       "/" + n.Cgroup,
		"Address":      n.Block.Node(n.Index),
		"Gateway":      n.Block.Gateway(),
		"HealthPort":   kubeletHealthPort,
		"LeaseSeconds": n.LeaseSeconds,
		"Pods":         n.Block.Pods(n.Index),
	}); err != nil {
		return nil, fmt.Errorf("writing %s of node %s: %w", name, n.Name, err)
	}
	return []byte(text.String()), nil
}

// linkFolders repeats the machine's links into /usr, such as /bin and /lib64.
func (n Node) linkFolders() error {
	entries, err := os.ReadDir("/")
	if err != nil {
		return fmt.Errorf("reading this machine's root: %w", err)
	}
	for _, entry := range entries {
		target, err := os.Readlink("/" + entry.Name())
		if err != nil || !strings.HasPrefix(strings.TrimPrefix(target, "/"), "usr/") {
			continue
		}
		if err := os.Symlink(target, filepath.Join(n.root(), entry.Name())); err != nil && !os.IsExist(err) {
			return fmt.Errorf("making the disk of node %s: %w", n.Name, err)
		}
	}
	if err := os.Symlink("/run", filepath.Join(n.root(), "var/run")); err != nil && !os.IsExist(err) {
		return fmt.Errorf("making the disk of node %s: %w", n.Name, err)
	}
	return nil
}
