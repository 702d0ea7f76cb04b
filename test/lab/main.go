//go:build linux

// Lab is a Kubernetes cluster for tests on one machine: a real control plane and fake GPU
// nodes, without containers and without network; real nodes beside them if asked for. README.md tells how to use it.
//
// The one binary is also every program of the cluster, chosen by its first argument or by
// the name it was called with:
//
//	component  etcd, kube-apiserver ... as functions
//	process    start a program that outlives this one, find it again, end it
//	stages     what fake nodes and their pods do (kwok's Stages)
//	realnode   a node with a kubelet and containerd, in namespaces of its own
//	network    the bridge, links and addresses of real nodes
//	debian     what real nodes run, as packages that are not installed
//	archive    image archives
//	cluster    up, down, add-nodes, node, pod: all of these put together
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/trainingjob/operator/test/lab/component"
)

func main() {
	if run, args := chosenComponent(os.Args); run != nil {
		os.Args = args
		os.Exit(run())
	}
	ctx, cancel := interruptible()
	defer cancel()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// chosenComponent finds the component that this process is to be, by the name it was
// called with (a link named kubectl) or by its first argument (lab kubectl), and the
// arguments that component is to see. It returns nil when lab itself was called.
func chosenComponent(args []string) (component.Main, []string) {
	if run := component.Named(filepath.Base(args[0])); run != nil {
		return run, args
	}
	if len(args) < 2 {
		return nil, nil
	}
	return component.Named(args[1]), args[1:]
}
