// Package realnode boots nodes whose pods run: each has a kubelet and containerd of its own, in namespaces of its own, so that
// it dies, reboots, hangs and loses its network like a machine.
//
// A node is one tree of processes. Its first process (lab node-init, process 1 of the node's pid namespace) does what init
// does on a machine: mounts, network, containerd, kubelet, and collects orphans. When it is killed, the kernel ends all
// processes of the node and drops its mounts and its network.
//
//	this machine                        in the node
//	DIR/root                            /            its disk: pods, images and logs; it stays when the node is booted again
//	/usr (read only), /dev              /usr, /dev
//	the lab's folder shared             /shared      the same in all nodes
//	the unpacked Debian packages        /opt/node
//	this program, or another kubelet    /opt/lab/lab, /opt/lab/kubelet
//	cgroup /NAME in every hierarchy     the same     /NAME/system for kubelet and containerd, below /NAME/kubepods the pods
//
// Decisions:
//   - A root of its own (pivot_root), not the machine's with mounts over it: nothing of the machine has to be there or is
//     hidden, and no pod sees the machine's files.
//   - The kubelet insists on some settings of the kernel that the whole machine shares. It finds private files over them.
//   - Cgroups are not in a namespace of their own, since runc and the kubelet find hierarchies of version 1 by their mounts.
package realnode

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/trainingjob/operator/test/lab/network"
	"github.com/trainingjob/operator/test/lab/process"
)

// InitCommand is the command of lab that becomes a node's first process.
const InitCommand = "node-init"

// Node is what a node's first process has to know; it reads it from a file.
type Node struct {
	Name string `json:"name"`
	// Index is the node's number among the Nodes of its lab.
	Index int           `json:"index"`
	Nodes int           `json:"nodes"`
	Block network.Block `json:"block"`
	// Dir is the node's folder on this machine.
	Dir string `json:"dir"`
	// Cgroup is the name of the node's cgroup in every hierarchy.
	Cgroup string `json:"cgroup"`
	// Packages is the folder with the unpacked Debian packages, Lab the file of this program.
	Packages string `json:"packages"`
	Lab      string `json:"lab"`
	// Kubelet is the file of a kubelet of another version of Kubernetes; empty for the one in Lab.
	Kubelet string `json:"kubelet,omitempty"`
	// Shared is a folder that all nodes of the lab have as /shared, as they would have a file server's.
	Shared string `json:"shared"`
	// LeaseSeconds is how long the node's lease lasts.
	LeaseSeconds int `json:"leaseSeconds"`
	// BootID is the node's own /proc/sys/kernel/random/boot_id, another one after each boot; the kubelet puts it into the Node.
	BootID string `json:"bootID"`
}

// Credentials are what a kubelet proves itself with, and whom it believes.
type Credentials struct {
	// Kubeconfig is the node's own.
	Kubeconfig []byte
	// ClientCA is the certificate of who may call the kubelet.
	ClientCA []byte
}

func (n Node) root() string { return filepath.Join(n.Dir, "root") }
func (n Node) file() string { return filepath.Join(n.Dir, "node.json") }

// HealthURL answers 200 once the kubelet works.
func (n Node) HealthURL() string {
	return fmt.Sprintf("http://%s:%d/healthz", n.Block.Node(n.Index), kubeletHealthPort)
}

// Install makes the node's disk: its folders and the files that its programs read.
func (n Node) Install(credentials Credentials) error {
	if err := n.makeFolders(); err != nil {
		return err
	}
	return n.writeConfiguration(credentials)
}

// describe writes what the first process of the node reads.
func (n Node) describe() error {
	content, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return fmt.Errorf("describing node %s: %w", n.Name, err)
	}
	if err := os.WriteFile(n.file(), content, 0o600); err != nil {
		return fmt.Errorf("describing node %s: %w", n.Name, err)
	}
	return nil
}

// Read reads the description of a node from its folder.
func Read(dir string) (Node, error) {
	content, err := os.ReadFile(Node{Dir: dir}.file())
	if err != nil {
		return Node{}, fmt.Errorf("reading the description of a node: %w", err)
	}
	var node Node
	if err := json.Unmarshal(content, &node); err != nil {
		return Node{}, fmt.Errorf("reading the description of the node in %s: %w", dir, err)
	}
	return node, nil
}

// Boot starts the node with the disk that it has. What a former life of it has left of cgroups is removed before: the
// kubelet's cAdvisor would go through all of it, for nearly a minute.
func (n Node) Boot() (*process.Child, error) {
	if err := n.describe(); err != nil {
		return nil, err
	}
	if err := RemoveCgroup(n.Cgroup); err != nil {
		return nil, err
	}
	if err := makeCgroup(n.Cgroup); err != nil {
		return nil, err
	}
	child, err := process.Start(process.Program{
		Name:       n.Name,
		Path:       n.Lab,
		Args:       []string{InitCommand, n.Dir},
		Log:        filepath.Join(n.Dir, "init.log"),
		Namespaces: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
	})
	if err != nil {
		return nil, err
	}
	if err := n.Block.Connect(n.Index, child.PID); err != nil {
		return nil, errors.Join(err, child.Kill())
	}
	return child, nil
}
