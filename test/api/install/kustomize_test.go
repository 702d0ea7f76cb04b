//go:build install

package install_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What docs/install.md recommends to put together is taken by the API server without a warning about a field.
func TestEveryCombinationIsTaken(t *testing.T) {
	for _, namespace := range []string{"trainingjob-system", "trainingjob-training", "team-a", "team-b"} {
		newNamespace(t, namespace)
	}
	kubectl(t, "", "apply", "-k", manifests+"/crd")
	t.Cleanup(func() { remove(t, "crd", "trainingjobs.trainingjob.dev") })
	for name, c := range map[string]struct {
		resource   string
		components []string
	}{
		"the base":                            {"base", nil},
		"with Kubeflow":                       {"base", []string{"kubeflow"}},
		"with Kubeflow's jobs":                {"base", []string{"kubeflow-kinds"}},
		"with JobSets":                        {"base", []string{"jobset"}},
		"with MPI":                            {"base", []string{"mpi"}},
		"with the policy of creators":         {"base", []string{"admission"}},
		"with Kueue's adapter":                {"base", []string{"kueue"}},
		"with Kueue's adapter and the policy": {"base", []string{"kueue", "admission"}},
		"with Kueue's adapter on 1.34":        {"base", []string{"kueue-1.34", "queue-required"}},
		"with the account confined":           {"base", []string{"confine"}},
		"with gangs and a time to live":       {"base", []string{"native-gang", "volcano", "coscheduling", "ttl"}},
		"everything":                          {"base", []string{"mpi", "native-gang", "volcano", "coscheduling", "ttl", "confine", "admission", "kueue", "kubeflow", "kubeflow-kinds", "jobset"}},
		"some namespaces":                     {"overlays/namespaces", nil},
		"some namespaces, with Kubeflow":      {"overlays/namespaces", []string{"kubeflow"}},
	} {
		t.Run(name, func(t *testing.T) {
			rendered, objects := kustomized(t, c.resource, c.components...)
			said := kubectl(t, rendered, "apply", "--dry-run=server", "--validate=strict", "-f", "-")
			if taken := strings.Count(said, "(server dry run)\n"); taken != len(objects) {
				t.Errorf("%d objects of %d are taken:\n%s", taken, len(objects), said)
			}
		})
	}
}

// team installs an operator of two namespaces by a copy of overlays/namespaces with other names. The second has no jobs.
func team(t *testing.T, own, jobs string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "operator"), 0o700); err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer("../../../base", relative(t, filepath.Join(folder, "operator"), "base"), "trainingjob-training", own,
		"team-a", jobs, "team-b", jobs+"-2")
	for _, file := range []string{"kustomization.yaml", "teams.yaml", "operator/kustomization.yaml"} {
		text, err := os.ReadFile(manifests + "/overlays/namespaces/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, file), []byte(names.Replace(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	newNamespace(t, jobs)
	newNamespace(t, jobs+"-2")
	rendered := kubectl(t, "", "kustomize", folder)
	all := filepath.Join(folder, "all.yaml")
	if err := os.WriteFile(all, []byte(rendered), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, "-f", all) })
	kubectl(t, "", "apply", "--validate=strict", "-f", all)
}

func TestTwoTeamsHaveAnOperatorEach(t *testing.T) {
	team(t, "operator-of-red", "red")
	team(t, "operator-of-blue", "blue")
	red := startInstalled(t, "operator-of-red")
	startInstalled(t, "operator-of-blue")
	for _, own := range []string{"operator-of-red", "operator-of-blue"} {
		expectLeader(t, own)
	}
	submit(t, "red", "one")
	submit(t, "blue", "one")

	// Each job has an operator of its own: without that of red, only blue's job gets its pod again.
	red.Kill()
	before := map[string]string{"red": pods(t, "red"), "blue": pods(t, "blue")}
	for _, jobs := range []string{"red", "blue"} {
		kubectl(t, "", "delete", "pod", "-n", jobs, "one-worker-1", "--wait=true")
	}
	kubectl(t, "", "wait", "-n", "blue", "--for=jsonpath={.status.restarts}=1", "--timeout=60s", "tj/one")
	expectRunning(t, "blue", "one")
	if now := pods(t, "blue"); now == before["blue"] || strings.Count(now, "\n") != 2 {
		t.Errorf("the job of blue had\n%s\nand has\n%s", before["blue"], now)
	}
	if now := pods(t, "red"); strings.Count(now, "\n") != 1 {
		t.Errorf("the job of red has no operator, and its pods are\n%s", now)
	}
}

func TestTheSecondReplicaTakesOver(t *testing.T) {
	kubectl(t, "", "apply", "-k", manifests+"/base")
	t.Cleanup(func() { remove(t, "-k", manifests+"/base") })
	newNamespace(t, "jobs")
	first := startInstalled(t, "trainingjob-system")
	expectLeader(t, "trainingjob-system")
	startInstalled(t, "trainingjob-system")
	submit(t, "jobs", "before")
	running := pods(t, "jobs")
	first.Kill()
	submit(t, "jobs", "after")
	if now := pods(t, "jobs"); !strings.Contains(now, strings.Split(running, "\n")[0]) {
		t.Errorf("the job that ran had\n%s\nand the new operator made of it\n%s", running, now)
	}
}
