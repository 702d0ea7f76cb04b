package schema_test

import (
	"strings"
	"testing"

	"github.com/trainingjob/operator/pkg/cli/schema"
	"github.com/trainingjob/operator/test/api/mistakes"
)

// What people get wrong most often is refused with what to write instead, without a cluster.
func TestCommonMistakes(t *testing.T) {
	all, err := mistakes.All()
	if err != nil || len(all) < 42 {
		t.Fatalf("%d mistakes, %v", len(all), err)
	}
	for i := range all {
		manifest, err := all[i].Manifest()
		if err != nil {
			t.Fatal(err)
		}
		switch _, err = schema.Job(manifest); {
		case (err == nil) != (all[i].Words == ""):
			t.Errorf("%s: error %v, want %q", all[i].Name, err, all[i].Words)
		case err != nil && (!strings.Contains(err.Error(), all[i].Words) || strings.Contains(err.Error(), "in body")):
			t.Errorf("%s: %v, want %q", all[i].Name, err, all[i].Words)
		}
	}
}

// What the API server accepts of a job and refuses of its pods.
func TestPodsThatKubernetesRefuses(t *testing.T) {
	for container, want := range map[string]string{
		"resources: {requests: {example.com/nic: 1}}":                                   "requests example.com/nic 1 without the same limit: write example.com/nic in resources.limits alone",
		"resources: {requests: {example.com/nic: 1}, limits: {example.com/nic: 2}}":     "without the same limit",
		"resources: {requests: {example.com/nic: 1}, limits: {example.com/nic: \"1\"}}": "",
		"resources: {requests: {hugepages-2Mi: 4Mi}}":                                   "without the same limit",
		"resources: {requests: {cpu: 1}, limits: {cpu: 2}}":                             "",
		"resources: {requests: {cpu: 2}, limits: {cpu: 1}}":                             "requests cpu 2 and has a limit of 1: write a limit that is not lower",
		"resources: {limits: {example.com/nic: 500m}}":                                  "has a limit of 500m example.com/nic: write a whole number",
		"resources: {limits: {cpu: 500m, memory: 1500m}}":                               "",
		"volumeMounts: [{name: dta, mountPath: /data}]":                                 "mounts the volume dta: write it in template.spec.volumes, or another name in volumeMounts",
		"volumeMounts: [{name: data, mountPath: /data}]":                                "",
	} {
		_, err := schema.Job([]byte(head + "spec: {framework: JAX, replicaSpecs: {Worker: {template: {spec: {volumes: [{name: data, emptyDir: {}}], containers: [{name: main, image: i, " + container + "}]}}}}}"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", container, err, want)
		}
	}
}
