//go:build kubeflow

package suites

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/yaml"
)

// quota is how many pods the queue has CPUs for: as many as a job has.
const quota = 2

const queueManifests = `
{apiVersion: v1, kind: Namespace, metadata: {name: NAME}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: NAME}
spec: {nodeLabels: {cloud.provider.com/node-group: tas-group}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: NAME}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups: [{coveredResources: [cpu], flavors: [{name: NAME, resources: [{name: cpu, nominalQuota: 2}]}]}]
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: queue, namespace: NAME}, spec: {clusterQueue: NAME}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: NAME}, value: 1000}
`

// Pods take three seconds to end, so that a job that starts too early runs beside them.
const podTemplate = `{metadata: {annotations: {lab.trainingjob.dev/terminate-after: 3s}},
  spec: {containers: [{name: CONTAINER, image: train, resources: {requests: {cpu: 1}}}]}}`

var queuedKinds = []struct{ kind, container, roles string }{
	{"PyTorchJob", "pytorch", `pytorchReplicaSpecs: {Master: {replicas: 1, template: POD}, Worker: {replicas: 1, template: POD}}`},
	{"TFJob", "tensorflow", `tfReplicaSpecs: {Worker: {replicas: 2, template: POD}}`},
}

// queue is a queue for jobs of one kind, with room for one of them.
type queue struct {
	gomega.Gomega
	client client.WithWatch
	name   string
	kind   int
}

// Kueue's own specs with a running operator admit one job, and place one. In this test jobs wait, are evicted, preempted and admitted again, with
// Kueue's own controllers, and never do more pods run than the quota has room for. Only our operator runs it: Kubeflow's reports a suspended job as
// inactive while its pods end, so that Kueue frees the quota too early.
func TestAQueueOfKubeflowJobs(t *testing.T) {
	inQueues(t, "", func(t *testing.T, q *queue) {
		most := q.countPods(t)
		q.play()
		if names := most(); len(names) != quota {
			t.Errorf("these pods existed at a time, want %d: %v", quota, names)
		}
	})
}

// inQueues runs a test in a namespace with a queue for each of the kinds. The suffix distinguishes the namespaces of tests.
func inQueues(t *testing.T, suffix string, test func(*testing.T, *queue)) {
	cfg, err := config.GetConfig()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range queuedKinds {
		t.Run(k.kind, func(t *testing.T) {
			q := &queue{Gomega: gomega.NewWithT(t), client: c, name: "queue-" + strings.ToLower(k.kind) + suffix, kind: i}
			for manifest := range strings.SplitSeq(queueManifests, "---") {
				q.create(strings.ReplaceAll(manifest, "NAME", q.name))
			}
			test(t, q)
		})
	}
}

// play is the story of three jobs. No user sets spec.active of a Workload, because Kueue then frees the quota at once, for all kinds of jobs.
func (q *queue) play() {
	q.submit("first", "")
	q.runs("first")
	q.stop("HoldAndDrain") // evicts it
	q.waits("first")
	q.stop("None")
	q.runs("first")

	q.submit("second", "")
	q.waits("second")
	q.submit("urgent", q.name)
	q.runs("urgent") // it preempts the first
	q.waits("first")

	for _, name := range []string{"urgent", "first", "second"} {
		q.runs(name)
		q.finish(name)
	}
}

func (q *queue) create(text string) {
	object := &unstructured.Unstructured{}
	q.Expect(yaml.Unmarshal([]byte(text), &object.Object)).To(gomega.Succeed())
	q.Expect(q.client.Create(context.Background(), object)).To(gomega.Succeed())
}

// submit creates a job in the queue.
func (q *queue) submit(name, priority string) {
	labels := []string{"kueue.x-k8s.io/queue-name: queue"}
	if priority != "" {
		labels = append(labels, "kueue.x-k8s.io/priority-class: "+priority)
	}
	q.create(q.manifest(name, labels...))
}

// manifest returns the manifest of a job.
func (q *queue) manifest(name string, labels ...string) string {
	k := queuedKinds[q.kind]
	pod := strings.ReplaceAll(podTemplate, "CONTAINER", k.container)
	return `{apiVersion: kubeflow.org/v1, kind: ` + k.kind + `, metadata: {name: ` + name + `, namespace: ` + q.name + `, labels: {` + strings.Join(labels, ", ") + `}},
  spec: {` + strings.ReplaceAll(k.roles, "POD", pod) + `}}`
}

// runs waits until both pods of the job run, no other pod does, and the queue counts two.
func (q *queue) runs(name string) {
	q.eventually(func(g gomega.Gomega) {
		g.Expect(q.condition(g, name)).To(gomega.Equal("Running"))
		var pods corev1.PodList
		g.Expect(q.client.List(context.Background(), &pods, client.InNamespace(q.name))).To(gomega.Succeed())
		running := map[string]int{}
		for i := range pods.Items {
			if pods.Items[i].Status.Phase == corev1.PodRunning {
				running[pods.Items[i].Labels["training.kubeflow.org/job-name"]]++
			}
		}
		g.Expect(running).To(gomega.Equal(map[string]int{name: quota}))
		g.Expect(q.reserved(g)).To(gomega.Equal("2"))
	})
}

// waits waits until the job is suspended and has no pods.
func (q *queue) waits(name string) {
	q.eventually(func(g gomega.Gomega) {
		suspended, _, _ := unstructured.NestedBool(q.job(g, name).Object, "spec", "runPolicy", "suspend")
		g.Expect(suspended).To(gomega.BeTrue())
		g.Expect(q.condition(g, name)).To(gomega.Equal("Suspended"))
		var pods corev1.PodList
		g.Expect(q.client.List(context.Background(), &pods, client.InNamespace(q.name), client.MatchingLabels{"training.kubeflow.org/job-name": name})).To(gomega.Succeed())
		g.Expect(pods.Items).To(gomega.BeEmpty())
	})
}

// finish has the programs of the job exit with 0, and waits until Kueue counts the job as finished. The leader, whose pod has the first name, exits
// last: its success ends the job, and Kueue frees the quota although another pod may run.
func (q *queue) finish(name string) {
	var pods corev1.PodList
	q.Expect(q.client.List(context.Background(), &pods, client.InNamespace(q.name), client.MatchingLabels{"training.kubeflow.org/job-name": name})).To(gomega.Succeed())
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(b.Name, a.Name) })
	for i := range pods.Items {
		pod := &pods.Items[i]
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"lab.trainingjob.dev/exit-code":"0"}}}`))
		q.Expect(q.client.Patch(context.Background(), pod, patch)).To(gomega.Succeed())
		q.eventually(func(g gomega.Gomega) {
			g.Expect(client.IgnoreNotFound(q.client.Get(context.Background(), client.ObjectKeyFromObject(pod), pod))).To(gomega.Succeed())
			g.Expect(hasEnded(pod)).To(gomega.BeTrue())
		})
	}
	q.eventually(func(g gomega.Gomega) {
		g.Expect(q.condition(g, name)).To(gomega.Equal("Succeeded"))
		g.Expect(conditions(q.workload(g, name))).To(gomega.HaveKeyWithValue("Finished", "True"))
	})
}

// stop sets the stop policy of the queue.
func (q *queue) stop(policy string) {
	local := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue"}}
	local.SetNamespace(q.name)
	local.SetName("queue")
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"stopPolicy":"`+policy+`"}}`))
	q.Expect(q.client.Patch(context.Background(), local, patch)).To(gomega.Succeed())
}
