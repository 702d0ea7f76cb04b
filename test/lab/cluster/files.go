package cluster

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/trainingjob/operator/test/lab/stages"
)

//go:embed audit-policy.yaml
var auditPolicy []byte

//go:embed kwok-options.yaml
var kwokOptions []byte

// writeFiles writes what the components read at their start, and bin, a folder for PATH (or envtest's
// KUBEBUILDER_ASSETS) with a link to the program of each component.
func (d Dir) writeFiles(controlPlane string) error {
	stages, err := stages.All()
	if err != nil {
		return err
	}
	if err := os.WriteFile(d.file("audit-policy.yaml"), auditPolicy, 0o644); err != nil {
		return fmt.Errorf("writing the audit policy: %w", err)
	}
	if err := os.WriteFile(d.file("kwok.yaml"), append(kwokOptions, stages...), 0o644); err != nil {
		return fmt.Errorf("writing kwok's configuration: %w", err)
	}
	return d.linkPrograms(controlPlane)
}

// otherVersions are the components that can be of another version of Kubernetes than this binary.
var otherVersions = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// linkPrograms makes bin: each component is this binary, but for those of the folder controlPlane if there is one.
func (d Dir) linkPrograms(controlPlane string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	if controlPlane, err = absolute(controlPlane); err != nil {
		return err
	}
	if err := os.MkdirAll(d.file("bin"), 0o755); err != nil {
		return fmt.Errorf("making the folder for PATH: %w", err)
	}
	for _, name := range slices.Concat([]string{"etcd", "kubectl", "kwok"}, otherVersions) {
		program := self
		if controlPlane != "" && slices.Contains(otherVersions, name) {
			program = filepath.Join(controlPlane, name)
		}
		if err := os.Symlink(program, d.file("bin/"+name)); err != nil {
			return fmt.Errorf("linking %s: %w", name, err)
		}
	}
	return nil
}

// absolute returns the absolute path, and none for none.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

// checkControlPlane finds programs that are missing, and gangs, whose feature gates no other version than this binary's is known to have.
func (o Options) checkControlPlane() error {
	if o.ControlPlane == "" {
		return nil
	}
	for _, name := range otherVersions {
		if _, err := os.Stat(filepath.Join(o.ControlPlane, name)); err != nil {
			return fmt.Errorf("looking for the programs of --control-plane (make versions builds some): %w", err)
		}
	}
	if !o.WithoutNativeGangs {
		return errors.New("--control-plane needs --without-native-gangs: other versions do not have Kubernetes' own gangs as this one has them")
	}
	return nil
}
