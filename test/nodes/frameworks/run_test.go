//go:build frameworks

package frameworks

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// A run is one job made of an example, in a namespace of its own.
type run struct {
	ctx             context.Context
	example         example
	hit             victim
	name, namespace string
	node            string // of the victim, before the fault
	spec            *v1alpha1.TrainingJob
	tape            *tape
	submitted       time.Time
	broken          time.Time
	saved           float64 // the step of the newest checkpoint before the fault
}

// begin submits the example as it is, but for what the fault needs and for the volume that the lab has for its claim.
func begin(ctx SpecContext, e example, hit victim, f fault) *run {
	GinkgoHelper()
	r := &run{ctx: ctx, example: e, hit: hit, name: e.name, tape: &tape{pods: map[string]*podSeen{}}}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "train-"}}
	Expect(kube.Create(ctx, ns)).To(Succeed())
	r.namespace = ns.Name
	text, err := os.ReadFile(filepath.Join(root, "examples", e.name, "job.yaml"))
	Expect(err).NotTo(HaveOccurred())
	documents := strings.Split(string(text), "\n---\n")
	r.spec = new(v1alpha1.TrainingJob)
	Expect(yaml.UnmarshalStrict([]byte(documents[0]), r.spec)).To(Succeed())
	r.spec.Namespace = r.namespace
	claim := new(corev1.PersistentVolumeClaim)
	Expect(yaml.UnmarshalStrict([]byte(documents[1]), claim)).To(Succeed())
	claim.Namespace = r.namespace
	if f.prepare != nil {
		f.prepare(r)
	}
	recording, stop := context.WithCancel(context.Background())
	DeferCleanup(func(ctx SpecContext) { r.cleanUp(ctx, ns, stop) })
	r.tape.record(recording, r.namespace)
	Expect(kube.Create(ctx, r.volumeFor(claim))).To(Succeed())
	Expect(kube.Create(ctx, claim)).To(Succeed())
	r.submitted = time.Now()
	Expect(kube.Create(ctx, r.spec)).To(Succeed())
	return r
}

// volumeFor is on the folder that all nodes of the lab share.
func (r *run) volumeFor(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	kind := corev1.HostPathDirectoryOrCreate
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: r.namespace},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:                   claim.Spec.AccessModes,
			Capacity:                      claim.Spec.Resources.Requests,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:                      &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name},
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/shared/" + r.namespace, Type: &kind}},
		},
	}
}

func (r *run) cleanUp(ctx SpecContext, ns *corev1.Namespace, stop func()) {
	if CurrentSpecReport().Failed() {
		r.tell(ctx)
	}
	Expect(kube.Delete(ctx, ns)).To(Succeed())
	Eventually(func() error { return client.IgnoreNotFound(kube.Get(ctx, client.ObjectKeyFromObject(ns), ns)) }).
		WithTimeout(2 * time.Minute).Should(Succeed())
	Expect(client.IgnoreNotFound(kube.Delete(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}))).To(Succeed())
	stop()
}

// tell shows what was seen, for whoever has to find out why a spec failed.
func (r *run) tell(ctx context.Context) {
	job := new(v1alpha1.TrainingJob)
	if kube.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: r.name}, job) == nil {
		text, _ := yaml.Marshal(job.Status)
		GinkgoWriter.Printf("status:\n%s\n", text)
	}
	for _, l := range r.tape.find(func(l line) bool { return !l.isStep() }) {
		GinkgoWriter.Println(l.at.Format("15:04:05.000"), l.pod, l.text)
	}
}

func (r *run) job() *v1alpha1.TrainingJob {
	GinkgoHelper()
	job := new(v1alpha1.TrainingJob)
	Expect(kube.Get(r.ctx, client.ObjectKey{Namespace: r.namespace, Name: r.name}, job)).To(Succeed())
	return job
}

// pod returns the victim's pod that runs; of former lives there may be others, kept for their logs.
func (r *run) pod() *corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(kube.List(r.ctx, &pods, client.InNamespace(r.namespace))).To(Succeed())
	i := slices.IndexFunc(pods.Items, func(p corev1.Pod) bool {
		return strings.HasPrefix(p.Name, r.name+"-"+r.hit.String()) && p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning
	})
	Expect(i).NotTo(Equal(-1), "a pod of %s", r.hit)
	return &pods.Items[i]
}

func (r *run) kubectl(args ...string) {
	GinkgoHelper()
	lab(r.forKubectl(args)...)
}

func (r *run) forKubectl(args []string) []string {
	return append([]string{"kubectl", "--kubeconfig", filepath.Join(labDir, "kubeconfig"), "-n", r.namespace}, args...)
}

// breaks runs the example, breaks it once it has a checkpoint, and expects it to end as if nothing had happened.
func breaks(ctx SpecContext, e example, hit victim, f fault) {
	GinkgoHelper()
	r := begin(ctx, e, hit, f)
	r.untilSaved()
	r.node = r.pod().Spec.NodeName
	if f.mend != nil {
		DeferCleanup(func(ctx SpecContext) { r.ctx = ctx; f.mend(r) })
	}
	r.broken = time.Now()
	f.do(r)
	Eventually(func() int32 { return r.job().Status.Restarts }).WithTimeout(4*time.Minute).Should(BeNumerically(">", 0), "restarts")
	r.ends()
	r.names(f)
	r.resumed(f)
	figures.fault(r, f)
}

// untilSaved waits for a checkpoint and for steps after it, that would be lost.
func (r *run) untilSaved() {
	GinkgoHelper()
	Eventually(func() bool {
		saved := r.tape.find(line.isSaved)
		return len(saved) > 0 && !r.tape.first(saved[0].at, line.isStep).IsZero()
	}).WithTimeout(8*time.Minute).Should(BeTrue(), "a checkpoint and a step after it")
	newest := map[string]float64{} // by pod: each parameter server has a checkpoint of its own
	for _, l := range r.tape.find(line.isSaved) {
		newest[l.pod] = l.value("step")
	}
	r.saved = newest[r.tape.find(line.isSaved)[0].pod]
	for _, step := range newest {
		r.saved = min(r.saved, step)
	}
}

// ends expects success, and a model as good as without faults.
func (r *run) ends() {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		job := r.job()
		g.Expect(job.Status.Phase).NotTo(Equal(v1alpha1.PhaseFailed), job.Status.Message)
		g.Expect(job.Status.Phase).To(Equal(v1alpha1.PhaseSucceeded), job.Status.Message)
	}).WithTimeout(12 * time.Minute).Should(Succeed())
	var done []line
	Eventually(func() []line { done = r.tape.find(line.isDone); return done }).WithTimeout(10*time.Second).ShouldNot(BeEmpty(), "a final loss in a log")
	for _, l := range done {
		Expect(l.value("loss")).To(And(BeNumerically(">", 0), BeNumerically("<", r.example.goodLoss)), l.text)
	}
}

// names expects the status to say what happened, to whom, and what was restarted.
func (r *run) names(f fault) {
	GinkgoHelper()
	incidents := slices.DeleteFunc(r.job().Status.Incidents, func(i v1alpha1.Incident) bool {
		return i.Explained && i.Cause == v1alpha1.CauseRetryable // a rank ended because of what is named in another, and showed first
	})
	Expect(incidents).NotTo(BeEmpty())
	first := incidents[len(incidents)-1]
	told := fmt.Sprintf("%s %s of %s-%d on %s, scope %s", first.Cause, first.Reason, first.Role, first.Index, first.Node, first.Scope)
	Expect(first.Cause).To(Equal(f.cause), told)
	Expect(first.Reason).To(Equal(f.reason), told)
	switch {
	case f.ofNode:
		Expect(first.Node).To(Equal(r.node), told)
	default:
		Expect(first.Role).To(Equal(r.hit.role), told)
		Expect(first.Index).To(Equal(r.hit.index), told)
	}
	if r.hit.scope == v1alpha1.ScopeJob {
		Expect(incidents).To(HaveLen(1), "one failure is one incident")
		Expect(first.Scope).To(Equal(v1alpha1.ScopeJob), told)
	}
	if f.ofNode {
		return // a server may have been on the node as well
	}
	Expect(first.Scope).To(Equal(r.hit.scope), told)
	if first.Scope == v1alpha1.ScopeReplica {
		Expect(r.later()).To(HaveLen(1), "only the victim is created again")
	}
}

// later returns the pods that were created after the fault, in that order.
func (r *run) later() []string {
	r.tape.Lock()
	defer r.tape.Unlock()
	var names []string
	for name, seen := range r.tape.pods {
		if seen.created.After(r.broken) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return r.tape.pods[a].created.Compare(r.tape.pods[b].created) })
	return names
}

// resumed expects the first step after the fault to be above the newest checkpoint before it.
func (r *run) resumed(f fault) {
	GinkgoHelper()
	steps := r.tape.find(r.isNewStep())
	Expect(steps).NotTo(BeEmpty(), "a step after the fault")
	Expect(steps[0].value("step")).To(BeNumerically(">=", r.saved), "%q: the newest checkpoint before the fault was of step %v", steps[0].text, r.saved)
	if r.hit.scope == v1alpha1.ScopeJob {
		Expect(r.tape.first(r.broken, line.isLoad)).NotTo(BeZero(), "a checkpoint is loaded")
	}
}

// isNewStep tells steps of what was restarted. A replica that never prints steps is replaced without the others noticing: then
// it is any step once the replica runs.
func (r *run) isNewStep() func(line) bool {
	later := r.later()
	ofLater := func(l line) bool { return l.isStep() && slices.Contains(later, l.pod) }
	if len(r.tape.find(ofLater)) > 0 || len(later) == 0 {
		return ofLater
	}
	r.tape.Lock()
	defer r.tape.Unlock()
	running := r.tape.pods[later[0]].running
	return func(l line) bool { return l.isStep() && l.at.After(running) }
}

// slower stretches the training.
func (r *run) slower(factor float64) {
	r.eachContainer(func(c *corev1.Container) {
		for i := range c.Env {
			if c.Env[i].Name == "PACE" {
				var pace float64
				_, err := fmt.Sscan(c.Env[i].Value, &pace)
				Expect(err).NotTo(HaveOccurred())
				c.Env[i].Value = fmt.Sprint(pace * factor)
			}
		}
	})
}

// limitMemory also mounts a file system in memory, /ram, that has no limit of its own.
func (r *run) limitMemory(limit string) {
	r.eachContainer(func(c *corev1.Container) {
		c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)}
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "ram", MountPath: "/ram"})
	})
	r.eachPod(func(pod *corev1.PodSpec) {
		inMemory := corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "ram", VolumeSource: corev1.VolumeSource{EmptyDir: &inMemory}})
	})
}

// spread has each node hold as many ranks as the others.
func (r *run) spread() {
	r.eachPod(func(pod *corev1.PodSpec) {
		pod.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelJobName: r.name}},
		}}
	})
}

func (r *run) eachContainer(change func(*corev1.Container)) {
	r.eachPod(func(pod *corev1.PodSpec) {
		for i := range pod.Containers {
			change(&pod.Containers[i])
		}
	})
}

func (r *run) eachPod(change func(*corev1.PodSpec)) {
	for role, replica := range r.spec.Spec.ReplicaSpecs {
		change(&replica.Template.Spec)
		r.spec.Spec.ReplicaSpecs[role] = replica
	}
}

// fillMemory writes into a file in memory, which counts against the container; the kernel then ends its largest process, which is
// the training.
func (r *run) fillMemory(pod *corev1.Pod) {
	r.mayFail("exec", pod.Name, "--", "dd", "if=/dev/zero", "of=/ram/fill", "bs=1M")
}

// mayFail runs kubectl with a command that ends with what it breaks.
func (r *run) mayFail(args ...string) {
	out, err := exec.Command(filepath.Join(root, "bin/lab"), r.forKubectl(args)...).CombinedOutput()
	GinkgoWriter.Printf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
}
