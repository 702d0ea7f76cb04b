//go:build install

package install_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/trainingjob/operator/test/api/testbed"
)

// importing is how docs/quickstart.md loads the operator's image into a node of plain containerd.
var importing = regexp.MustCompile("`sudo ctr -n k8s.io images import (bin/[a-z.-]+)`")

// applying is how docs/quickstart.md installs the operator then.
var applying = regexp.MustCompile(`(?m)^\$ kubectl apply -f (bin/[a-z.-]+)$`)

// twoRanks is a job on real nodes. Its image is the lab's own stand-in for a training program, which exits when it is asked to.
const twoRanks = `
apiVersion: trainingjob.dev/v1alpha1
kind: TrainingJob
metadata: {name: first}
spec:
  framework: PyTorch
  replicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: main, image: "lab.local/trainer:1", imagePullPolicy: Never}]}}
`

// docs/quickstart.md on a cluster without a registry, as it stands: the archive of make image-archive gets into the containerd of real nodes
// by ctr, as kind, minikube and k3s do it, and the operator runs there as a pod.
func TestAClusterWithoutARegistry(t *testing.T) {
	lab, err := testbed.GivenLab()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/quickstart.md")
	if err != nil {
		t.Fatal(err)
	}
	archive, manifest := importing.FindSubmatch(page), applying.FindSubmatch(page)
	if archive == nil || manifest == nil {
		t.Fatal("docs/quickstart.md installs in another way")
	}
	if _, err := lab.Run(t.Context(), "image", "import", "../../../"+string(archive[1])); err != nil { // ctr -n k8s.io images import
		t.Fatal(err)
	}
	installed := "../../../" + string(manifest[1])
	kubectl(t, "", "apply", "-f", installed)
	t.Cleanup(func() { remove(t, "-f", installed) })
	kubectl(t, "", "rollout", "status", "-n", home, "deployment/"+operatorName, "--timeout=180s")

	newNamespace(t, "jobs")
	kubectl(t, twoRanks, "apply", "--validate=strict", "-n", "jobs", "-f", "-")
	expectRunning(t, "jobs", "first")
	kubectl(t, "", "exec", "-n", "jobs", "first-worker-0", "--", "/program", "do", "exit 0") // the leader: a rank that loses its peer would break
	kubectl(t, "", "wait", "-n", "jobs", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s", "tj/first")
}
