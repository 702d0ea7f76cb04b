//go:build e2e && kueue

package readme_test

import "testing"

// The commands of docs/platform.md, on a cluster with Kueue and its adapter.
func TestPlatform(t *testing.T) { runPage(t, "docs/platform.md", 6) }
