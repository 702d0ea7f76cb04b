package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// readCRDs returns the CustomResourceDefinitions in a file, or in the .yaml, .yml and
// .json files of a folder (not of its subfolders). Other objects in them, such as a
// kustomization, are passed over; it is an error if no definition is found at all.
func readCRDs(path string) ([]apiextensions.CustomResourceDefinition, error) {
	files, err := crdFiles(path)
	if err != nil {
		return nil, err
	}
	var definitions []apiextensions.CustomResourceDefinition
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading CRDs: %w", err)
		}
		found, err := decodeCRDs(content)
		if err != nil {
			return nil, fmt.Errorf("reading CRDs from %s: %w", file, err)
		}
		definitions = append(definitions, found...)
	}
	if len(definitions) == 0 {
		return nil, fmt.Errorf("--crds %s: no CustomResourceDefinition there", path)
	}
	return definitions, nil
}

func crdFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("looking for CRDs: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("looking for CRDs: %w", err)
	}
	var files []string
	for _, entry := range entries {
		if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) && !entry.IsDir() {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, nil
}

func decodeCRDs(content []byte) ([]apiextensions.CustomResourceDefinition, error) {
	return decode(content, func(crd *apiextensions.CustomResourceDefinition) bool { return crd.Kind == "CustomResourceDefinition" })
}
