//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// gangScheduler is one who schedules gangs, and what specs have to know of it.
type gangScheduler struct {
	name   v1alpha1.Gang
	groups schema.GroupVersionKind
	// minimum is where a group says how many pods must fit at once.
	minimum []string
	// groupOf returns the name of the group that the pod has joined.
	groupOf func(*corev1.Pod) string
	// words are among those in which it says why a gang waits; sleep is how long a gang that was refused may wait
	// before it is tried again.
	words string
	sleep time.Duration
	// takesAll is whether it preempts a collective whole; who does not takes pods, and the operator ends the others.
	takesAll bool
	// install is what makes the cluster serve its groups; missing is a word by which a user finds it.
	install, missing string
}

// gangSchedulers are all there are, Kubernetes itself first.
var gangSchedulers = []gangScheduler{
	{
		name: v1alpha1.GangNative, groups: schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1beta1", Kind: "PodGroup"},
		minimum: []string{"spec", "schedulingPolicy", "gang", "minCount"},
		groupOf: func(pod *corev1.Pod) string {
			return ptr.Deref(ptr.Deref(pod.Spec.SchedulingGroup, corev1.PodSchedulingGroup{}).PodGroupName, "")
		},
		words: "cannot be satisfied", sleep: 20 * time.Second, takesAll: true,
		install: "Kubernetes 1.37 with the feature gate GenericWorkload and --runtime-config=scheduling.k8s.io/v1beta1=true",
		missing: "feature gate GenericWorkload",
	},
	{
		name: v1alpha1.GangVolcano, groups: schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "PodGroup"},
		minimum: []string{"spec", "minMember"},
		groupOf: func(pod *corev1.Pod) string { return pod.Annotations["scheduling.k8s.io/group-name"] },
		words:   "pod group is not ready", sleep: 20 * time.Second,
		install: "Volcano with the actions preempt and reclaim, and the plugin capacity (lab up --with volcano)", missing: "install Volcano",
	},
	{
		name: v1alpha1.GangCoscheduling, groups: schema.GroupVersionKind{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Kind: "PodGroup"},
		minimum: []string{"spec", "minMember"},
		groupOf: func(pod *corev1.Pod) string { return pod.Labels["scheduling.x-k8s.io/pod-group"] },
		// Nothing wakes a refused gang when nodes come or get free: it waits for the scheduler's sweep, every 30 s.
		words: "nodes are available", sleep: time.Minute,
		install: "the scheduler of scheduler-plugins (lab up --with coscheduling)", missing: "install scheduler-plugins",
	},
}

// withEachGangScheduler tells the same story of every gang scheduler, under its name as a label. It has the cluster for itself.
func withEachGangScheduler(title string, story func(by gangScheduler)) bool {
	for _, by := range gangSchedulers {
		Describe(fmt.Sprintf("%s by %s", title, by.name), Serial, Label("gang", string(by.name)), func() {
			BeforeEach(func() {
				requires(by.isServed(), fmt.Sprintf("the cluster serves no %s: that needs %s", by.groups, by.install))
				gpusAreFree()
			})
			story(by)
		})
	}
	return true
}

// isServed reports whether the cluster has the scheduler's groups.
func (by gangScheduler) isServed() bool {
	_, err := kube.RESTMapper().RESTMapping(by.groups.GroupKind(), by.groups.Version)
	return err == nil
}

// groupsOf returns the job's groups by name.
func (by gangScheduler) groupsOf(j *submitted) map[string]unstructured.Unstructured {
	GinkgoHelper()
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(by.groups)
	Expect(kube.List(here.ctx, &list, client.InNamespace(here.namespace), client.MatchingLabels{v1alpha1.LabelJobName: j.name})).To(Succeed())
	groups := map[string]unstructured.Unstructured{}
	for _, group := range list.Items {
		groups[group.GetName()] = group
	}
	return groups
}

// hasGroups waits until the job has these groups and no other.
func (by gangScheduler) hasGroups(j *submitted, names ...string) {
	GinkgoHelper()
	Eventually(func() []string {
		found := []string{}
		for name := range by.groupsOf(j) {
			found = append(found, name)
		}
		slices.Sort(found)
		return found
	}).Should(HaveExactElements(names), "groups of %s", j.name)
}

// minimumOf returns how many pods must fit at once, as the group says.
func (by gangScheduler) minimumOf(j *submitted, group string) int64 {
	GinkgoHelper()
	minimum, found, err := unstructured.NestedInt64(by.groupsOf(j)[group].Object, by.minimum...)
	Expect(err).NotTo(HaveOccurred())
	Expect(found).To(BeTrue(), "%v of group %s", by.minimum, group)
	return minimum
}

// joined returns the groups that the job's pods that can run have joined.
func (by gangScheduler) joined(v *view) []string {
	var groups []string
	for i := range v.pods {
		if ledger.CanRun(&v.pods[i]) {
			groups = append(groups, by.groupOf(&v.pods[i]))
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// waitsForNodes reports whether the job says that it waits as a gang.
func (v *view) waitsForNodes() bool {
	scheduled := v.condition(v1alpha1.ConditionScheduled)
	return scheduled.Status == metav1.ConditionFalse && scheduled.Reason == v1alpha1.ReasonGangWaiting
}

// placed returns how many of the job's pods hold a node.
func (v *view) placed() int {
	return len(slices.DeleteFunc(slices.Clone(v.pods), func(p corev1.Pod) bool { return !holdsNode(&p) }))
}
