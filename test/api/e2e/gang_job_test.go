//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// gang has the job's pods scheduled all at once or not at all.
func gang(scheduler v1alpha1.Gang, terms ...jobOption) jobOption {
	return func(j *v1alpha1.TrainingJob) {
		builder.Gang(scheduler)(j)
		for _, change := range terms {
			change(j)
		}
	}
}

func important(class string) jobOption {
	return builder.Scheduling(func(s *v1alpha1.Scheduling) { s.PriorityClassName = class })
}

func inQueue(name string) jobOption {
	return builder.Scheduling(func(s *v1alpha1.Scheduling) { s.Queue = name })
}

// within keeps the gang in one domain of the topology.
func within(key string) jobOption {
	return builder.Scheduling(func(s *v1alpha1.Scheduling) {
		s.Topology = &v1alpha1.Topology{Key: key, Mode: v1alpha1.TopologyRequired}
	})
}

// wholeNodes are workers that need a node each, with all its GPUs.
func wholeNodes(n int, nodes ...string) jobOption {
	options := []replicaOption{func(r *v1alpha1.ReplicaSpec) {
		_, gpus := gpuNodes()
		limited(gpu, gpus)(r)
	}}
	if len(nodes) > 0 {
		options = append(options, only(nodes...))
	}
	return workers(n, options...)
}

// holdsNode reports whether nobody else can have what the pod was given.
func holdsNode(p *corev1.Pod) bool { return p.Spec.NodeName != "" && ledger.CanRun(p) }

// ends lets the job succeed: its leader does, and the other workers are ended.
func (j *submitted) ends() {
	GinkgoHelper()
	j.exits(0, "worker-0")
	j.succeeds()
}

// priorityClass makes a priority class for the spec.
func priorityClass(value int32) string {
	GinkgoHelper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{GenerateName: "gang-"}, Value: value}
	Expect(kube.Create(here.ctx, class)).To(Succeed())
	DeferCleanup(func() { Expect(kube.Delete(here.ctx, class)).To(Succeed()) })
	return class.Name
}

// addNode makes a fake node like another until the spec ends. It goes when nothing runs there any more.
func addNode(like string) string {
	GinkgoHelper()
	was := getNode(like)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "gang-", Labels: was.Labels, Annotations: was.Annotations}, Status: was.Status}
	delete(node.Labels, corev1.LabelHostname)
	node.Status.Conditions, node.Status.Addresses = nil, nil
	Expect(kube.Create(here.ctx, node)).To(Succeed())
	DeferCleanup(func() {
		gpusAreFree()
		Expect(kube.Delete(here.ctx, node, client.Preconditions{UID: ptr.To(node.UID)})).To(Succeed())
	})
	becomesWell(node.Name)
	return node.Name
}
