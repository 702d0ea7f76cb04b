package local_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/schema"
)

// jobOf returns a job of the framework in which every replica of the roles runs the script.
func jobOf(t *testing.T, framework, script string, roles ...string) *v1alpha1.TrainingJob {
	t.Helper()
	b := &strings.Builder{}
	fmt.Fprintf(b, "apiVersion: trainingjob.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: j, namespace: ns}\nspec:\n  framework: %s\n"+
		"  runPolicy: {finishGraceSeconds: 1}\n  recovery: {terminationGraceSeconds: 1}\n  replicaSpecs:\n", framework)
	for _, role := range roles {
		name, count, _ := strings.Cut(role, "=")
		fmt.Fprintf(b, "    %s:\n      replicas: %s\n      template:\n        spec:\n          containers:\n          - name: main\n            image: train:1\n"+
			"            command: [sh, -c, %q]\n            env: [{name: D, value: /d}]\n            volumeMounts: [{name: d, mountPath: /d}]\n"+
			"          volumes: [{name: d, persistentVolumeClaim: {claimName: d}}]\n", name, count, script)
	}
	job, err := schema.Job([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return job
}
