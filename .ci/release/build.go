package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// platform is an operating system and an architecture, as Go and OCI call them.
type platform struct{ os, arch string }

// program is a program of the repository.
type program struct {
	name, title, description string
	module, pkg              string // its module's folder in the tree, and its package in there
}

var (
	images = []program{
		{"operator", "TrainingJob operator", "Runs distributed training jobs on Kubernetes", ".", "./cmd/operator"},
		{"kueue-adapter", "TrainingJob adapter for Kueue", "Lets TrainingJobs wait in Kueue's queues", "cmd/kueue-adapter", "."},
	}

	pluginProgram = program{"kubectl-tj", "kubectl tj", "The plug-in of kubectl for TrainingJobs", ".", "./cmd/kubectl-tj"}
)

// platforms are those of kubectl-tj; images are for Linux only.
var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}

func (p platform) String() string { return p.os + "/" + p.arch }

// choose returns the platforms of these names, without their order. linux/amd64 must be one, as the bill of materials is read from it.
func choose(names []string) ([]platform, error) {
	var chosen []platform
	var known []string
	for _, p := range platforms {
		known = append(known, p.String())
		if slices.Contains(names, p.String()) {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) != len(names) || len(chosen) == 0 || chosen[0] != platforms[0] {
		return nil, fmt.Errorf("--platforms %s: write linux/amd64, and others of %s", strings.Join(names, ","), strings.Join(known, ","))
	}
	return chosen, nil
}

// build compiles a program into the folder and returns its path. What is of this machine does not get into it: neither paths, nor how git sees
// the tree, nor settings of Go. Without debugging information, as everything here is compiled: what is compiled already is taken from the cache.
func (r *release) build(ctx context.Context, folder string, p program, on platform) (string, error) {
	module, err := filepath.Abs(filepath.Join(r.tree, p.module))
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, strings.Join([]string{p.name, on.os, on.arch}, "-"))
	env := []string{"CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOOS=" + on.os, "GOARCH=" + on.arch}
	fmt.Printf("building %s for %s/%s\n", p.name, on.os, on.arch)
	args := []string{"build", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", "-ldflags", "-s -w -X main.version=" + r.version, "-o", path, p.pkg}
	_, err = run(ctx, module, env, "go", args...)
	return path, err
}
