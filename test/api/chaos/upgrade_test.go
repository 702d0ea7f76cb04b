//go:build chaos

package chaos

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/sim/builder"
)

// former is a folder with an earlier version: the program operator and the CRD, as make test-upgrade puts them there.
var former = flag.String("former", "", "folder with an earlier version of the operator and its CRD, for the specs labelled upgrade")

// version is one that the cluster has had or gets: where its program and its CRD are.
type version struct{ name, operator, crd string }

func versions() (older, newer version) {
	GinkgoHelper()
	if *former == "" {
		Skip("which version before? make test-upgrade builds one and names it")
	}
	newer = version{"the present version", *operatorBinary, "../../../manifests/crd/trainingjob.dev_trainingjobs.yaml"}
	older = version{"the version before", filepath.Join(*former, "operator"), filepath.Join(*former, "crd.yaml")}
	texts := map[string]bool{}
	for _, v := range []version{older, newer} {
		text, err := os.ReadFile(v.crd)
		Expect(err).NotTo(HaveOccurred())
		texts[string(text)] = true
	}
	Expect(texts).To(HaveLen(2), "the CRDs are the same: choose an earlier version, or nothing is tried")
	return older, newer
}

// install applies the version's CRD, as an administrator does.
func (v version) install() {
	GinkgoHelper()
	_, err := lab.Kubectl(context.Background(), "apply", "--server-side", "--force-conflicts", "-f", v.crd)
	Expect(err).NotTo(HaveOccurred())
	say("the CRD is that of %s", v.name)
}

// start starts the version's operator, for all namespaces.
func (v version) start() *operator {
	GinkgoHelper()
	present := *operatorBinary
	defer func() { *operatorBinary = present }()
	*operatorBinary = v.operator
	o := startOperator("")
	Eventually(o.works).Should(BeTrue(), "the operator of %s does not start", v.name)
	say("the operator is that of %s", v.name)
	return o
}

// resting are jobs in the phases in which nothing happens, by the phase that they are to be in.
func resting(p *place) map[v1alpha1.Phase]*v1alpha1.TrainingJob {
	jobs := map[v1alpha1.Phase]*v1alpha1.TrainingJob{
		v1alpha1.PhaseSuspended:  job("suspended", v1alpha1.PyTorch, builder.Workers(2), builder.Suspended()),
		v1alpha1.PhasePending:    job("pending", v1alpha1.PyTorch, builder.Workers(2, builder.Limit("nvidia.com/gpu", 1000))),
		v1alpha1.PhaseRunning:    job("running", v1alpha1.JAX, builder.Workers(2)),
		v1alpha1.PhaseRestarting: job("restarting", v1alpha1.PyTorch, builder.Workers(2, builder.Doing("exit-code", "1"), builder.Doing("run-for", "1s")), builder.BackOff(3600, 3600)),
		v1alpha1.PhaseSucceeded:  job("succeeded", v1alpha1.Custom, builder.Leader(v1alpha1.Master, builder.Doing("run-for", "1s"))),
		v1alpha1.PhaseFailed:     job("failed", v1alpha1.Custom, builder.MaxRestarts(0), builder.Leader(v1alpha1.Master, builder.Doing("run-for", "1s"), builder.Doing("exit-code", "1"))),
	}
	for _, j := range jobs {
		j.Namespace = p.namespace
		Expect(kube.Create(context.Background(), j)).To(Succeed())
	}
	for phase, j := range jobs {
		Eventually(func() v1alpha1.Phase { return read(j).Status.Phase }).Should(Equal(phase), "job %s", j.Name)
	}
	Eventually(func() int32 { return read(jobs[v1alpha1.PhaseRestarting]).Status.Restarts }).Should(BeEquivalentTo(2), "the second restart in a row waits for an hour")
	return jobs
}

// read returns the job as the API server has it.
func read(j *v1alpha1.TrainingJob) *v1alpha1.TrainingJob {
	GinkgoHelper()
	now := &v1alpha1.TrainingJob{}
	Expect(kube.Get(context.Background(), client.ObjectKeyFromObject(j), now)).To(Succeed())
	return now
}

// story is what must not change of a job that nothing happens to.
type story struct {
	Phase                              v1alpha1.Phase
	Reason                             string
	Attempt, Restarts, ChargedRestarts int32
	Pods                               map[string]types.UID
}

// stories returns the story of each job; pods that have ended do not count, as some are cleaned up later.
func stories(jobs map[v1alpha1.Phase]*v1alpha1.TrainingJob) map[string]story {
	GinkgoHelper()
	all := map[string]story{}
	for _, j := range jobs {
		s := read(j).Status
		told := story{s.Phase, s.Reason, s.Attempt, s.Restarts, s.ChargedRestarts, map[string]types.UID{}}
		var pods corev1.PodList
		Expect(kube.List(context.Background(), &pods, client.InNamespace(j.Namespace), client.MatchingLabels{v1alpha1.LabelJobName: j.Name})).To(Succeed())
		for i := range pods.Items {
			if runs(&pods.Items[i]) || pods.Items[i].Status.Phase == corev1.PodPending {
				told.Pods[pods.Items[i].Name] = pods.Items[i].UID
			}
		}
		all[j.Name] = told
	}
	return all
}

var _ = Describe("An upgrade", Label("upgrade", "full"), func() {
	It("and the way back, while pods break: every failure is counted once, and a job to which nothing happens keeps its pods and its status", func() {
		older, newer := versions()
		p, quiet := newPlace(), newPlace()
		p.excused, quiet.excused = isOfNames, isOfNames
		older.install()
		o := older.start()
		DeferCleanup(func() { o.Kill(); newer.install() })
		rest := resting(quiet)
		before := stories(rest)
		p.submit(cast(14)...)
		p.harm.begin(200 * time.Millisecond)
		for _, step := range []struct {
			operator version
			crd      *version // applied before, while the former operator still runs; nil: as it is
		}{
			{newer, &newer}, // upgrade: the CRD first, so for a while an older operator has a newer CRD
			{older, nil},    // back: the image alone, so an older operator has a newer CRD
			{newer, &older}, // a newer operator with an older CRD: what happens if the CRD was forgotten
			{newer, &newer},
		} {
			if step.crd != nil {
				step.crd.install()
			}
			time.Sleep(3 * time.Second) // not to wait for anything: for so long this pair is broken
			o.Kill()
			time.Sleep(time.Second) // what breaks meanwhile is seen by the next
			o = step.operator.start()
			time.Sleep(5 * time.Second)
			Expect(o.HasEnded()).To(BeFalse(), "the operator of %s has ended", step.operator.name)
			Expect(o.panics()).To(BeEmpty())
			Expect(stories(rest)).To(Equal(before), "jobs to which nothing happens, under the operator of %s", step.operator.name)
		}
		p.conclude(3 * time.Minute)
		Expect(stories(rest)).To(Equal(before), "jobs to which nothing happens")
		goOn(rest)
		Expect(quiet.broken()).To(BeEmpty(), "invariants that were broken")
	})

	It("that ends in an uninstallation keeps jobs and pods, unless the CRD is deleted too", func() {
		p := newPlace()
		ctx := context.Background()
		kubectl := func(args ...string) {
			GinkgoHelper()
			_, err := lab.Kubectl(ctx, args...)
			Expect(err).NotTo(HaveOccurred())
		}
		const base = "../../../manifests/base"
		kubectl("apply", "-k", base)
		o := startAsInstalled(p.namespace)
		DeferCleanup(func() { o.Kill() })
		j := job("kept", v1alpha1.JAX, builder.Workers(2))
		j.Namespace = p.namespace
		Expect(kube.Create(ctx, j)).To(Succeed())
		jobs := map[v1alpha1.Phase]*v1alpha1.TrainingJob{v1alpha1.PhaseRunning: j}
		Eventually(func() v1alpha1.Phase { return read(j).Status.Phase }).Should(Equal(v1alpha1.PhaseRunning))
		before := stories(jobs)
		Expect(before[j.Name].Pods).To(HaveLen(2))

		o.Kill()
		kubectl("delete", "-k", base, "-l", "app.kubernetes.io/component!=crd")
		Consistently(func() map[string]story { return stories(jobs) }).WithTimeout(5*time.Second).Should(Equal(before), "without an operator")
		kubectl("apply", "-k", base)
		o = startAsInstalled(p.namespace)
		Eventually(o.works).Should(BeTrue(), "the operator that was installed again does not start")
		Consistently(func() map[string]story { return stories(jobs) }).WithTimeout(5*time.Second).Should(Equal(before), "with another operator")
		goOn(jobs)

		o.Kill()
		kubectl("delete", "-k", base)
		Eventually(func() bool {
			err := kube.Get(ctx, client.ObjectKeyFromObject(j), &v1alpha1.TrainingJob{})
			return meta.IsNoMatchError(err) || apierrors.IsNotFound(err)
		}).Should(BeTrue(), "the CRD is told to go, and its jobs with it")
		var pods corev1.PodList
		Eventually(func() []corev1.Pod {
			Expect(kube.List(ctx, &pods, client.InNamespace(p.namespace))).To(Succeed())
			return pods.Items
		}).Should(BeEmpty(), "the pods of jobs that are gone")
		kubectl("apply", "-k", "../../../manifests/crd") // for what comes after
		Eventually(func() error { return kube.List(ctx, &v1alpha1.TrainingJobList{}) }).WithTimeout(time.Minute).Should(Succeed(), "the CRD is served again")
		grantOperators()
	})
})

// isOfNames reports whether the violation is about the label by which a Service selects pods. Versions of before 23 November 2026 did not
// write it, and selected all pods of the job: a Service stays as it was made, so a job that began under such a version has its names.
func isOfNames(violation string) bool {
	return strings.HasPrefix(violation, "15 rendezvous: that ") && strings.Contains(violation, " can be found in DNS is")
}

// startAsInstalled starts the present operator as the account that manifests/base makes, with what its bindings allow.
func startAsInstalled(namespace string) *operator {
	GinkgoHelper()
	const user = "system:serviceaccount:trainingjob-system:trainingjob-operator"
	kubeconfig := lab.File("kubeconfig-installed")
	Expect(testbed.WriteKubeconfigAs(kubeconfig, lab.Kubeconfig(), user, "system:serviceaccounts", "system:authenticated")).To(Succeed())
	o := &operator{user: user, log: lab.File("installed.log")}
	log, err := os.Create(o.log)
	Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	o.Operator, err = testbed.StartOperator(*operatorBinary, kubeconfig, namespace, log)
	Expect(err).NotTo(HaveOccurred())
	return o
}

// goOn sees that a job that has rested goes on when it is let: the running one restarts when a pod breaks, the suspended one is resumed.
func goOn(jobs map[v1alpha1.Phase]*v1alpha1.TrainingJob) {
	GinkgoHelper()
	ctx := context.Background()
	if j := jobs[v1alpha1.PhaseSuspended]; j != nil {
		now := read(j)
		now.Spec.Suspend = ptr.To(false)
		Expect(kube.Update(ctx, now)).To(Succeed())
		Eventually(func() v1alpha1.Phase { return read(j).Status.Phase }).Should(Equal(v1alpha1.PhaseRunning), "the suspended job is resumed")
	}
	j := jobs[v1alpha1.PhaseRunning]
	var pods corev1.PodList
	Expect(kube.List(ctx, &pods, client.InNamespace(j.Namespace), client.MatchingLabels{v1alpha1.LabelJobName: j.Name})).To(Succeed())
	Expect(pods.Items).NotTo(BeEmpty())
	Expect(testbed.Tell(ctx, kube, &pods.Items[0], testbed.Annotations{"exit-code": "137"})).To(Succeed())
	Eventually(func() bool {
		s := read(j).Status
		return s.Attempt == 1 && s.Restarts == 1 && s.Phase == v1alpha1.PhaseRunning
	}).Should(BeTrue(), "the running job restarts when a pod breaks")
}
