// Package support knows on which versions of Kubernetes the operator is tested.
//
// The table of docs/support.md lists the runs of each version; make test-versions repeats them.
package support

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
)

// Oldest and Newest are the versions of Kubernetes between which the operator is tested, both included.
const (
	Oldest = "1.34"
	Newest = "1.37"
)

// Warning returns a warning about a cluster with this version; empty for a tested version. The effects of newer versions are unknown, and
// providers have their own versions ("v1.34.2-gke.100"), so neither is an error.
func Warning(gitVersion string) string {
	found, err := version.ParseGeneric(gitVersion)
	if err != nil {
		return fmt.Sprintf("The version of Kubernetes, %q, cannot be read: this operator is tested on %s to %s.", gitVersion, Oldest, Newest)
	}
	minor := version.MajorMinor(found.Major(), found.Minor())
	switch {
	case minor.LessThan(version.MustParseGeneric(Oldest)):
		return fmt.Sprintf("Kubernetes %s is older than %s, the oldest that this operator is tested on: upgrade the cluster.", gitVersion, Oldest)
	case minor.GreaterThan(version.MustParseGeneric(Newest)):
		return fmt.Sprintf("Kubernetes %s is newer than %s, the newest that this operator is tested on: look for a newer operator.", gitVersion, Newest)
	}
	return ""
}
