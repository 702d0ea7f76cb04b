// Package integrations proves the recipes of manifests/integrations with the other side's own code: what Argo CD, Flux, Helm, Argo
// Workflows, Katib, kube-state-metrics and the autoscaler read of a TrainingJob is what docs/integrations.md says.
//
// testdata holds jobs as the API server of the lab had them, one of each kind. It is a module of its own, so that the product's go.mod
// stays lean. Tests with the tag e2e need the lab of KUBECONFIG with the operator, and bin/kube-state-metrics.
package integrations
