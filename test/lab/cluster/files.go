package cluster

import (
	_ "embed"
	"fmt"
	"os"

	"github.com/trainingjob/operator/test/lab/stages"
)

//go:embed audit-policy.yaml
var auditPolicy []byte

//go:embed kwok-options.yaml
var kwokOptions []byte

// writeFiles writes what the components read at their start, and bin, a folder for PATH (or envtest's
// KUBEBUILDER_ASSETS) with a link to this binary for each component that it is.
func (d Dir) writeFiles() error {
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
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	if err := os.MkdirAll(d.file("bin"), 0o755); err != nil {
		return fmt.Errorf("making the folder for PATH: %w", err)
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"} {
		if err := os.Symlink(self, d.file("bin/"+name)); err != nil {
			return fmt.Errorf("linking %s: %w", name, err)
		}
	}
	return nil
}
