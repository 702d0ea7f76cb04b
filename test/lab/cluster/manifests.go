package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// objectsOf returns the objects of these kinds in a file of manifests.
func objectsOf(manifests []byte, kinds ...string) ([]unstructured.Unstructured, error) {
	return decode(manifests, func(o *unstructured.Unstructured) bool { return slices.Contains(kinds, o.GetKind()) })
}

// decode returns those documents of a file of manifests, in YAML or JSON, that are wanted.
func decode[T any](manifests []byte, isWanted func(*T) bool) ([]T, error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	var found []T
	for {
		var object T
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading manifests: %w", err)
		}
		if isWanted(&object) {
			found = append(found, object)
		}
	}
}
