package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// namespaceFile has the namespace of the pod that reads it; a process outside a pod has none.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace returns the namespace of the operator's pod, "" outside a pod.
func ownNamespace() string {
	text, err := os.ReadFile(namespaceFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// excluded returns the namespaces in which the operator runs no job. Its own is one of them: a pod there can act in the operator's name.
func (o *options) excluded() []string {
	if own := ownNamespace(); own != "" {
		return append(slices.Clone(o.excludedNamespaces), own)
	}
	return o.excludedNamespaces
}

// validateNamespaces returns an error for a name that no namespace can have, or that is on both lists.
func (o *options) validateNamespaces() error {
	for _, name := range slices.Concat(o.namespaces, o.excludedNamespaces) {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return fmt.Errorf("--namespaces and --exclude-namespaces: %q is no name of a namespace", name)
		}
	}
	for _, name := range o.namespaces {
		if slices.Contains(o.excluded(), name) {
			return fmt.Errorf("--namespaces %s: this namespace is the operator's own or one of --exclude-namespaces", name)
		}
	}
	return nil
}
