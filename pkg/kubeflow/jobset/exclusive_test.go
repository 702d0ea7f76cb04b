package jobset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The terms are in words of the API: all pods with the value of this pod's job-key, none with another value of it and with this pod's priority.
func TestAnExclusiveTopologyBecomesAffinities(t *testing.T) {
	const terms = `
podAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
  - {topologyKey: rack, namespaceSelector: {}, matchLabelKeys: [jobset.sigs.k8s.io/job-key],
     labelSelector: {matchExpressions: [{key: jobset.sigs.k8s.io/jobset-name, operator: Exists}]}}
podAntiAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
  - {topologyKey: rack, namespaceSelector: {}, mismatchLabelKeys: [jobset.sigs.k8s.io/job-key], matchLabelKeys: [jobset.sigs.k8s.io/priority],
     labelSelector: {matchExpressions: [{key: jobset.sigs.k8s.io/jobset-name, operator: Exists}]}}
`
	var want corev1.Affinity
	if err := yaml.UnmarshalStrict([]byte(terms), &want); err != nil {
		t.Fatal(err)
	}
	const annotation = "{alpha.jobset.sigs.k8s.io/exclusive-topology: rack}"
	for name, manifest := range map[string]string{
		"of the JobSet":           changed(t, pair(""), "annotations: {}", "annotations: "+annotation),
		"of the replicated job":   changed(t, trained, "template:\n      spec:", "template:\n      metadata: {annotations: "+annotation+"}\n      spec:"),
		"also of the pods itself": changed(t, changed(t, pair(""), "annotations: {}", "annotations: "+annotation), "template: {spec: {containers", "template: {metadata: {annotations: "+annotation+"}, spec: {containers"),
	} {
		for role, replicas := range served(t, read(t, manifest)).Child.Spec.ReplicaSpecs {
			if diff := cmp.Diff(&want, replicas.Template.Spec.Affinity); diff != "" {
				t.Errorf("%s, %s: %s", name, role, diff)
			}
			if _, isThere := replicas.Template.Annotations["alpha.jobset.sigs.k8s.io/exclusive-topology"]; isThere {
				t.Errorf("%s, %s: the pods have the annotation, so JobSet's webhook would refuse them", name, role)
			}
		}
	}
	if got := served(t, read(t, trained)).Child.Spec.ReplicaSpecs["Worker"].Template.Spec.Affinity; got != nil {
		t.Errorf("affinity %+v without the annotation", got)
	}
}
