//go:build kubeflow

package moving

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/others/kubeflow"
)

// The page's command adds the CRDs that a cluster lacks, and changes no other.
func TestMissingCRDsAreCreated(t *testing.T) {
	versions := func() string {
		return kubectl(t, "get", "crds", "--output", `jsonpath={range .items[?(@.spec.group=="kubeflow.org")]}{.metadata.name}={.metadata.uid}/{.metadata.generation} {end}`)
	}
	kubectl(t, "delete", "crd", "jaxjobs.kubeflow.org", "--ignore-not-found")
	before := strings.Fields(versions())
	page, err := os.ReadFile(filepath.Join(root, "docs/migrating.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, command, found := strings.Cut(string(page), "\nkubectl create -k ")
	command, _, _ = strings.Cut(command, "\n")
	folder := formerFrom(t, command)
	if said, err := lab.Kubectl(t.Context(), "create", "--kustomize", folder); !found || err == nil || strings.Count(said, "AlreadyExists") != 5 {
		t.Fatalf("creating %s: %v, want five CRDs that exist already", folder, err)
	}
	after := strings.Fields(versions())
	if len(after) != 6 || len(before) != 5 {
		t.Errorf("%d CRDs, want 6; before %d, want 5", len(after), len(before))
	}
	for _, version := range before {
		if !slices.Contains(after, version) {
			t.Errorf("%s has changed: %v", version, after)
		}
	}
}

// leave ends the process of Kubeflow's operator, installs what the operator has beside it, and runs the commands of the page that remove all but the CRDs.
func (m movers) leave(endFormer func()) {
	m.t.Helper()
	endFormer() // which takes the lab's webhooks along
	m.shell(formerFrom(m.t, "kubectl apply --server-side --force-conflicts -k "+standalone))
	probe := parse(m.t, `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: probe, namespace: `+m.namespace+`}, spec: {pytorchReplicaSpecs: {
		Worker: {template: {spec: {containers: [{name: pytorch, image: i}]}}}}}}`)
	until(m.t, "the webhook without its server refuses jobs", func() (bool, any) {
		err := kube.Create(m.t.Context(), probe.DeepCopy(), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "failed calling webhook"), err
	})
	m.run("Remove Kubeflow's operator")
	until(m.t, "jobs can be created again", func() (bool, any) {
		err := kube.Create(m.t.Context(), probe.DeepCopy(), client.DryRunAll)
		return err == nil, err
	})
}

// standalone is the address of the manifests of Kubeflow's operator.
const standalone = `"https://github.com/kubeflow/trainer/manifests/overlays/standalone?ref=v1.9.4"`

// formerFrom returns the command with the folder of the module for the address of the manifests.
func formerFrom(t *testing.T, command string) string {
	t.Helper()
	dir, err := kubeflow.TrainingOperator.Dir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(`"https://github.com/kubeflow/trainer`, dir, "?ref="+kubeflow.TrainingOperator.Version+`"`, "").Replace(command)
}

// run runs the commands of docs/migrating.md under that heading. Fake nodes play the Deployments.
func (m movers) run(heading string) {
	m.t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs/migrating.md"))
	if err != nil {
		m.t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n### "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n#")
	ran := 0
	for line := range strings.Lines(section) {
		if command, isCommand := strings.CutPrefix(line, "$ "); isCommand {
			m.shell(strings.ReplaceAll(formerFrom(m.t, command), "OVERLAY", filepath.Join(root, "test/others/kubeflow/installation")))
			ran++
		}
	}
	if !found || ran == 0 {
		m.t.Fatalf("docs/migrating.md has no commands under %q", heading)
	}
}

func (m movers) shell(command string) {
	m.t.Helper()
	shell := exec.CommandContext(m.t.Context(), "bash", "-ec", command)
	shell.Env = append(os.Environ(), "KUBECONFIG="+lab.Kubeconfig(), "PATH="+lab.File("bin")+":"+os.Getenv("PATH"))
	if said, err := shell.CombinedOutput(); err != nil {
		m.t.Fatalf("%s: %v\n%s", command, err, said)
	}
}
