//go:build pipelines

package pipelines

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// trainStep is the name of the step that trains, as kfp makes it of the component's name.
const trainStep = "run-a-trainingjob"

// A workflow is one run of a pipeline.
type workflow struct{ object *unstructured.Unstructured }

// A node is what Argo's status has of a step, or of one try of it.
type node struct {
	ID, DisplayName, Type, Phase, Message string
	Outputs                               struct {
		Parameters []struct{ Name, Value string }
		Artifacts  []struct {
			Name string
			S3   struct{ Key string }
		}
	}
}

// run runs a pipeline that kfp has compiled.
func run(ctx SpecContext, pipeline string, arguments map[string]string) *workflow {
	GinkgoHelper()
	Expect(os.RemoveAll(given.File("shared/data"))).To(Succeed())
	Expect(os.MkdirAll(given.File("shared/data"), 0o777)).To(Succeed())
	return submit(ctx, text("bin/pipelines/"+pipeline+".yaml"), arguments)
}

// text returns a file of the project.
func text(file string) string {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(root, file))
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}

// submit creates a workflow with arguments. Its jobs and pods go with the spec.
func submit(ctx SpecContext, manifest string, arguments map[string]string) *workflow {
	GinkgoHelper()
	w := &workflow{&unstructured.Unstructured{}}
	Expect(yaml.Unmarshal([]byte(manifest), &w.object.Object)).To(Succeed())
	w.object.SetNamespace(namespace)
	Expect(unstructured.SetNestedField(w.object.Object, account, "spec", "serviceAccountName")).To(Succeed())
	var parameters []any
	for name, value := range arguments {
		parameters = append(parameters, map[string]any{"name": name, "value": value})
	}
	Expect(unstructured.SetNestedSlice(w.object.Object, parameters, "spec", "arguments", "parameters")).To(Succeed())
	Expect(kube.Create(ctx, w.object)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			GinkgoWriter.Println(kubectl(ctx, "get", "workflows,trainingjobs,pods", "--namespace", namespace, "--output", "yaml"))
		}
		Expect(client.IgnoreNotFound(kube.Delete(ctx, w.object))).To(Succeed())
		kubectl(ctx, "delete", "pytorchjobs", "--all", "--namespace", namespace)
		Expect(kube.DeleteAllOf(ctx, &v1alpha1.TrainingJob{}, client.InNamespace(namespace))).To(Succeed())
		Eventually(func() []corev1.Pod { return pods(ctx) }).Should(BeEmpty())
	})
	return w
}

// nodes returns the nodes of Argo's status.
func (w *workflow) nodes(ctx context.Context) []node {
	GinkgoHelper()
	Expect(kube.Get(ctx, client.ObjectKeyFromObject(w.object), w.object)).To(Succeed())
	text, err := json.Marshal(w.object)
	Expect(err).NotTo(HaveOccurred())
	var read struct {
		Status struct{ Nodes map[string]node }
	}
	Expect(json.Unmarshal(text, &read)).To(Succeed())
	return slices.Collect(maps.Values(read.Status.Nodes))
}

// node returns the node of that display name, such as run-a-trainingjob(1) for the second try of the step; an empty one if there is none.
func (w *workflow) node(ctx context.Context, name string) node {
	GinkgoHelper()
	all := w.nodes(ctx)
	if i := slices.IndexFunc(all, func(n node) bool { return n.DisplayName == name }); i >= 0 {
		return all[i]
	}
	return node{}
}

// ends waits until the run is over and returns its phase.
func (w *workflow) ends(ctx SpecContext) string {
	GinkgoHelper()
	var phase string
	Eventually(func() string {
		w.nodes(ctx)
		phase, _, _ = unstructured.NestedString(w.object.Object, "status", "phase")
		return phase
	}).Should(BeElementOf("Succeeded", "Failed", "Error"))
	return phase
}

// pod returns the pod of a node.
func (w *workflow) pod(ctx SpecContext, name string) corev1.Pod {
	GinkgoHelper()
	var found corev1.Pod
	Eventually(func() bool {
		all, id := pods(ctx), w.node(ctx, name).ID
		i := slices.IndexFunc(all, func(p corev1.Pod) bool { return id != "" && p.Annotations["workflows.argoproj.io/node-id"] == id })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	}).Should(BeTrue(), "%s has a pod", name)
	return found
}

// log returns what the step of a node has printed.
func (w *workflow) log(ctx SpecContext, name string) string {
	GinkgoHelper()
	pod := w.pod(ctx, name)
	text, err := logs.CoreV1().Pods(namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: "main"}).DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func (n node) parameter(name string) string {
	for _, p := range n.Outputs.Parameters {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// artifact returns what the store has of an output of the step.
func (n node) artifact(ctx SpecContext, name string) []byte {
	GinkgoHelper()
	for _, a := range n.Outputs.Artifacts {
		if a.Name != name {
			continue
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+store+"/"+bucket+"/"+a.S3.Key, http.NoBody)
		Expect(err).NotTo(HaveOccurred())
		response, err := http.DefaultClient.Do(request)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = response.Body.Close() }()
		Expect(response.StatusCode).To(Equal(http.StatusOK), "%s", a.S3.Key)
		content, err := io.ReadAll(response.Body)
		Expect(err).NotTo(HaveOccurred())
		return content
	}
	Fail("the step has no artifact " + name)
	return nil
}
