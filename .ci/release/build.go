package main

import (
	"context"
	"fmt"
	"path/filepath"
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
	imagePlatforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}}

	pluginProgram   = program{"kubectl-tj", "kubectl tj", "The plug-in of kubectl for TrainingJobs", ".", "./cmd/kubectl-tj"}
	pluginPlatforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}
)

// build compiles a program into the folder and returns its path. What is of this machine does not get into it: neither paths, nor how git sees
// the tree, nor settings of Go.
func (r *release) build(ctx context.Context, folder string, p program, on platform) (string, error) {
	module, err := filepath.Abs(filepath.Join(r.tree, p.module))
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, strings.Join([]string{p.name, on.os, on.arch}, "-"))
	env := []string{"CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOOS=" + on.os, "GOARCH=" + on.arch}
	fmt.Printf("building %s for %s/%s\n", p.name, on.os, on.arch)
	_, err = run(ctx, module, env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+r.version, "-o", path, p.pkg)
	return path, err
}
