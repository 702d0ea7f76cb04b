// Package kubeflow finds what Kubeflow's operators and Kueue publish, for tests of who comes from them: the examples, the CRDs and the specs in
// their Go modules, at one version. They are downloaded and not copied into this tree.
package kubeflow

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// Module is a Go module at a version, with its checksum.
type Module struct{ Path, Version, Sum string }

// The modules.
var (
	TrainingOperator = Module{"github.com/kubeflow/training-operator", "v1.9.4", "h1:MjYXzeaHGBmF47BlhCo6+Mb7ypHrVfO6vsys1ZHF56A="}
	Kueue            = Module{"sigs.k8s.io/kueue", "v0.19.0", "h1:5yCu85qsJhvUVVxE0Csw546DDBcRwUXpBEOmEFlws34="}
	JobSet           = Module{"sigs.k8s.io/jobset", "v0.12.0", "h1:YYPuV0px8Ongq/RXmJg6V0w2UC67aiR+rCMD06vhQQQ="}
	MPIOperator      = Module{"github.com/kubeflow/mpi-operator", "v0.8.2", "h1:7PVtV31iX3LSVW0BqRQ64w/NYNfAgP86Bmua2OEi5lg="}
)

// Dir returns the folder of the module; it downloads what is not there. It is an error if that is not what the checksum says.
func (m Module) Dir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", m.Path+"@"+m.Version).Output()
	var answer struct{ Dir, Sum, Error string }
	if decodeErr := json.Unmarshal(out, &answer); decodeErr != nil || answer.Error != "" {
		return "", fmt.Errorf("downloading %s@%s: %s: %w", m.Path, m.Version, answer.Error, err)
	}
	if answer.Sum != m.Sum {
		return "", fmt.Errorf("%s@%s has checksum %s, want %s", m.Path, m.Version, answer.Sum, m.Sum)
	}
	return answer.Dir, nil
}

// Manifests returns the YAML files below a folder of the module that speak of kubeflow.org.
func (m Module) Manifests(ctx context.Context, folder string) ([]string, error) {
	dir, err := m.Dir(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	err = filepath.WalkDir(filepath.Join(dir, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "kubeflow.org/") {
			found = append(found, path)
		}
		return err
	})
	return found, err
}

// Schema returns the schema of the kind's version, from the CRD in a file of the module.
func (m Module) Schema(ctx context.Context, file, version string) (map[string]any, error) {
	dir, err := m.Dir(ctx)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return nil, err
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", file, err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Name == version {
			return v.Schema.OpenAPIV3Schema, nil
		}
	}
	return nil, fmt.Errorf("%s has no version %s", file, version)
}
