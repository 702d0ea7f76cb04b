//go:build kubeflow

package moving

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/kubeflow"
)

// movers are the jobs of a moving day, with what changes in them.
type movers struct {
	t         *testing.T
	namespace string
}

// create creates a PyTorchJob of a master and two workers. POLICY and NODES of the template can be replaced.
func (m movers) create(name string, change ...string) job {
	m.t.Helper()
	const template = `{restartPolicy: POLICY, replicas: COUNT, template: {spec: {NODES containers: [{name: pytorch, image: train}]}}}`
	text := `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: ` + name + `, namespace: ` + m.namespace + `}, spec: {RUN
		pytorchReplicaSpecs: {Master: ` + strings.Replace(template, "COUNT", "1", 1) + `, Worker: ` + strings.Replace(template, "COUNT", "2", 1) + `}}}`
	text = strings.NewReplacer(append(change, "POLICY", "OnFailure", "NODES", "", "RUN", "")...).Replace(text)
	if err := kube.Create(m.t.Context(), parse(m.t, text)); err != nil {
		m.t.Fatal(err)
	}
	return job{m.namespace, "PyTorchJob", name}
}

// hasPods waits until the job has three pods of that phase, and returns them. A failed pod may stay for its log.
func (m movers) hasPods(j job, phase corev1.PodPhase) map[string]corev1.Pod {
	m.t.Helper()
	var pods map[string]corev1.Pod
	until(m.t, j.name+" has 3 pods that are "+string(phase), func() (bool, any) {
		pods = j.pods(m.t)
		maps.DeleteFunc(pods, func(_ string, pod corev1.Pod) bool { return pod.Status.Phase != phase })
		return len(pods) == 3, slices.Collect(maps.Keys(pods))
	})
	return pods
}

// isServed reports whether the job has a TrainingJob.
func (m movers) isServed(j job) bool {
	m.t.Helper()
	err := kube.Get(m.t.Context(), client.ObjectKey{Namespace: j.namespace, Name: j.name}, &v1alpha1.TrainingJob{})
	if client.IgnoreNotFound(err) != nil {
		m.t.Fatal(err)
	}
	return err == nil
}

// A moving day: jobs of each phase under Kubeflow's operator, its removal, this operator, and the way back.
func TestMovingDay(t *testing.T) {
	endFormer := startFormer(t)
	m := movers{t, namespace(t, "moving")}
	m.watchDoubles()

	unschedulable := m.create("unschedulable", "NODES", "nodeSelector: {moving: "+m.namespace+"},")
	running := m.create("running")
	breaks := m.create("breaks", "POLICY", "ExitCode")
	dies := m.create("dies", "POLICY", "Never")
	suspended := m.create("suspended", "RUN", "runPolicy: {suspend: true},")
	held := m.create("held")
	expires := m.create("expires", "RUN", "runPolicy: {ttlSecondsAfterFinished: 60},")
	succeeded := m.create("succeeded")
	failed := m.create("failed", "POLICY", "Never")

	m.hasPods(unschedulable, corev1.PodPending)
	before := m.hasPods(running, corev1.PodRunning)
	broken := m.hasPods(breaks, corev1.PodRunning)
	dying := m.hasPods(dies, corev1.PodRunning)
	suspended.until(t, "Suspended")
	m.hasPods(held, corev1.PodRunning)
	held.suspend(t, true)
	held.until(t, "Suspended")
	exit(t, "137", broken["breaks-worker-0"]) // Kubeflow's operator restarts it
	until(t, "worker 0 is another pod", func() (bool, any) {
		pod := breaks.pods(t)["breaks-worker-0"]
		return pod.UID != "" && pod.UID != broken["breaks-worker-0"].UID, pod.UID
	})
	broken = m.hasPods(breaks, corev1.PodRunning)
	exit(t, "0", m.hasPods(succeeded, corev1.PodRunning)["succeeded-master-0"])
	succeeded.until(t, "Succeeded")
	exit(t, "1", m.hasPods(failed, corev1.PodRunning)["failed-worker-1"])
	failed.until(t, "Failed")
	finished := map[string][]types.UID{"succeeded": uids(succeeded.pods(t)), "failed": uids(failed.pods(t))}
	exit(t, "0", m.hasPods(expires, corev1.PodRunning)["expires-master-0"])
	expires.until(t, "Succeeded")

	m.leave(endFormer)
	exit(t, "137", broken["breaks-worker-1"]) // no operator sees it now
	ours := startOurs(t)

	kubectl(t, "label", "nodes", "--all", "--overwrite", "moving="+m.namespace)
	exit(t, "0", m.hasPods(unschedulable, corev1.PodRunning)["unschedulable-master-0"])
	unschedulable.until(t, "Succeeded")
	exit(t, "1", dying["dies-worker-1"])
	dies.until(t, "Failed")
	breaks.until(t, "Restarting")
	until(t, "all pods of breaks are new and run", func() (bool, any) {
		pods := breaks.pods(t)
		for name, pod := range pods {
			if pod.Status.Phase != corev1.PodRunning || pod.UID == broken[name].UID {
				return false, name
			}
		}
		return len(pods) == 3 && m.isServed(breaks), len(pods)
	})
	breaks.until(t, "Running")
	for _, j := range []job{suspended, held} {
		if pods := j.pods(t); len(pods) > 0 {
			t.Errorf("%s is suspended and has pods %v", j.name, slices.Collect(maps.Keys(pods)))
		}
		j.suspend(t, false)
		j.until(t, "Running")
	}
	if after := running.pods(t); !slices.Equal(uids(before), uids(after)) {
		t.Errorf("running had the pods %v and has %v", uids(before), uids(after))
	}
	if m.isServed(running) {
		t.Error("a TrainingJob serves running, whose pods Kubeflow's operator made")
	}
	exit(t, "0", running.pods(t)["running-master-0"])
	running.until(t, "Succeeded")
	until(t, "the job expires whose time to live began under Kubeflow's operator", func() (bool, any) { return expires.read(t) == nil, "it is there" })
	for _, j := range []job{succeeded, failed} {
		if after := uids(j.pods(t)); !slices.Equal(after, finished[j.name]) || m.isServed(j) {
			t.Errorf("%s had ended and had the pods %v; now it has %v", j.name, finished[j.name], after)
		}
	}
	succeeded.until(t, "Succeeded")
	failed.until(t, "Failed")

	// The way back.
	back, rests := m.hasPods(suspended, corev1.PodRunning), held
	rests.suspend(t, true)
	rests.until(t, "Suspended")
	ours.Kill()
	m.run("Go back to Kubeflow's operator")
	m.shell("kubectl delete validatingwebhookconfiguration validator.training-operator.kubeflow.org") // the lab has another one, with its server's address
	startFormer(t)
	rests.suspend(t, false)
	rests.until(t, "Running")
	if after := suspended.pods(t); !slices.Equal(uids(back), uids(after)) {
		t.Errorf("the pods were %v and are %v after the way back", uids(back), uids(after))
	}
	exit(t, "0", suspended.pods(t)["suspended-master-0"])
	suspended.until(t, "Succeeded")
	exit(t, "0", rests.pods(t)["held-master-0"])
	rests.until(t, "Succeeded")
}

// An elastic job without a Master succeeds with the first worker that does, whichever operator runs it.
func TestAnElasticJobSucceedsWithItsFirstWorker(t *testing.T) {
	play := func(t *testing.T) {
		j := job{namespace(t, "elastic"), "PyTorchJob", "elastic"}
		object := parse(t, `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: elastic, namespace: `+j.namespace+`}, spec: {
			elasticPolicy: {minReplicas: 1, maxReplicas: 3}, pytorchReplicaSpecs: {Worker: {replicas: 3, template: {spec: {containers: [{name: pytorch, image: i}]}}}}}}`)
		if err := kube.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		exit(t, "0", movers{t, j.namespace}.hasPods(j, corev1.PodRunning)["elastic-worker-2"])
		j.until(t, "Succeeded")
	}
	t.Run("Kubeflow's", func(t *testing.T) {
		startFormer(t)
		play(t)
	})
	t.Run("this one", func(t *testing.T) {
		startOurs(t)
		play(t)
	})
}

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
			m.shell(strings.ReplaceAll(formerFrom(m.t, command), "OVERLAY", filepath.Join(root, "test/kubeflow/installation")))
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

func uids(pods map[string]corev1.Pod) []types.UID {
	var list []types.UID
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		list = append(list, pods[name].UID)
	}
	return list
}

// watchDoubles fails the test if two pods of one replica run at the same time.
func (m movers) watchDoubles() {
	m.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	pods, err := kube.Watch(ctx, &corev1.PodList{}, client.InNamespace(m.namespace))
	if err != nil {
		cancel()
		m.t.Fatal(err)
	}
	done := make(chan struct{})
	m.t.Cleanup(func() {
		cancel()
		<-done
	})
	go func() {
		defer close(done)
		running := map[string]types.UID{}
		for event := range pods.ResultChan() {
			pod, isPod := event.Object.(*corev1.Pod)
			if !isPod {
				if err := apierrors.FromObject(event.Object); ctx.Err() == nil {
					m.t.Errorf("watching pods: %v", err)
				}
				return
			}
			replica := strings.Join([]string{
				pod.Labels["training.kubeflow.org/job-name"], pod.Labels["training.kubeflow.org/replica-type"], pod.Labels["training.kubeflow.org/replica-index"],
			}, "-")
			runs := event.Type != watch.Deleted && pod.Status.Phase == corev1.PodRunning
			switch other := running[replica]; {
			case runs && other != "" && other != pod.UID:
				m.t.Errorf("two pods of %s run: %s and %s", replica, other, pod.UID)
			case runs:
				running[replica] = pod.UID
			case other == pod.UID:
				delete(running, replica)
			}
		}
	}()
}
