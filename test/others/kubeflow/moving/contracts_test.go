//go:build kubeflow

package moving

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// These tests do with jobs and pods that this operator made what clients do that cannot run here.

// trial returns an object that stands for a Trial of Katib: it owns the job.
func trial(t *testing.T, namespace string) *corev1.ConfigMap {
	t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "trial"}}
	if err := kube.Create(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	owner.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return owner
}

// ownerOf reads the owner of an object.
func ownerOf(t *testing.T, namespace string, ref metav1.OwnerReference) *unstructured.Unstructured {
	t.Helper()
	owner := &unstructured.Unstructured{}
	owner.SetAPIVersion(ref.APIVersion)
	owner.SetKind(ref.Kind)
	if err := kube.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: ref.Name}, owner); err != nil {
		t.Fatal(err)
	}
	return owner
}

// Katib walks all owners in their order, gives up at one that it may not read, and then collects no metrics of the pod. KAI walks the first owner
// of each object, and gives up if its UID is another or if an owner has several owners. Kueue walks the controllers.
//
// Sources: kubeflow/katib pkg/webhook/v1beta1/pod/inject_webhook.go, getKatibJob, commit 0222fb8146b8; NVIDIA/KAI-scheduler
// pkg/podgrouper/podgrouper, getResourceOwners, of 2025; Kueue pkg/controller/jobframework/reconciler.go, FindAncestorJobManagedByKueue, 0.19.0.
func TestOwnersLeadFromAPodToTheJobAndItsOwner(t *testing.T) {
	startOurs(t)
	m := movers{t, namespace(t, "owners")}
	top := trial(t, m.namespace)
	j := m.create("owned")
	patched := j.read(t)
	patched.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(top, top.GroupVersionKind())})
	if err := kube.Update(t.Context(), patched); err != nil {
		t.Fatal(err)
	}
	for name, pod := range m.hasPods(j, corev1.PodRunning) {
		first := pod.OwnerReferences[0]
		object := ownerOf(t, m.namespace, first)
		if first.Kind != "PyTorchJob" || first.APIVersion != "kubeflow.org/v1" || first.UID != object.GetUID() || !metav1.IsControlledBy(&pod, object) {
			t.Errorf("the first owner of %s is %+v, want the PyTorchJob, as its controller", name, first)
		}
		if above := object.GetOwnerReferences(); len(above) != 1 || above[0].UID != top.UID {
			t.Errorf("the owners of the PyTorchJob are %+v, want the trial alone", above)
		}
	}
}

// Katib, Flyte, arena and Argo read the status at each step of a job's life.
func TestClientsReadTheStatusOfAJob(t *testing.T) {
	startOurs(t)
	m := movers{t, namespace(t, "status")}
	succeeds, fails := m.create("succeeds", "POLICY", "ExitCode"), m.create("fails", "POLICY", "Never")
	for _, j := range []job{succeeds, fails} {
		j.until(t, "Running")
		expectCurrent(t, j, "Running", false, false)
	}
	exit(t, "137", succeeds.pods(t)["succeeds-worker-0"])
	succeeds.until(t, "Restarting")
	expectCurrent(t, succeeds, "Restarting", false, false)
	until(t, "it runs again", func() (bool, any) {
		are := succeeds.conditions(t)
		return slices.Contains(are, "Running"), are
	})
	expectCurrent(t, succeeds, "Running", false, false)
	for _, pod := range m.hasPods(succeeds, corev1.PodRunning) {
		if pod.Labels["training.kubeflow.org/job-role"] == "master" { // Katib's primary pod
			exit(t, "0", pod)
		}
	}
	succeeds.until(t, "Succeeded")
	until(t, "the workers count as succeeded", func() (bool, any) {
		text := text(t, succeeds)
		return argo(t, text, "status.replicaStatuses.Worker.succeeded = 2"), text
	})
	expectCurrent(t, succeeds, "Succeeded", true, false)
	exit(t, "1", fails.pods(t)["fails-worker-1"])
	fails.until(t, "Failed")
	expectCurrent(t, fails, "Failed", false, true)
	if text := text(t, fails); !argo(t, text, "status.replicaStatuses.Worker.failed > 0") {
		t.Errorf("Argo's condition of failure does not hold in %s", text)
	}
}

func text(t *testing.T, j job) string {
	t.Helper()
	encoded, err := json.Marshal(map[string]any{"status": j.read(t).Object["status"]})
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// expectCurrent checks which condition Flyte and arena take for the present one, and whether Katib takes the job for succeeded or failed.
func expectCurrent(t *testing.T, j job, want string, succeeded, failed bool) {
	t.Helper()
	object := text(t, j)
	if got := flyte(t, object); got != want {
		t.Errorf("Flyte sees %s, want %s, in %s", got, want, object)
	}
	if got := arena(t, object); got != want {
		t.Errorf("arena sees %s, want %s, in %s", got, want, object)
	}
	if got := katib(object, "Succeeded"); got != succeeded {
		t.Errorf("Katib's successCondition holds: %t, want %t, in %s", got, succeeded, object)
	}
	if got := katib(object, "Failed"); got != failed {
		t.Errorf("Katib's failureCondition holds: %t, want %t, in %s", got, failed, object)
	}
}

// katib reports whether Katib's default successCondition or failureCondition finds the condition.
// Sources: kubeflow/katib pkg/controller.v1beta1/trial/util/job_util.go, GetDeployedJobStatus, commit 05967b46919f; the conditions: the
// documentation of trialTemplate.successCondition.
func katib(object, kind string) bool {
	return len(gjson.Get(object, `status.conditions.#(type=="`+kind+`")#|#(status=="True")#`).Array()) > 0
}

// latest returns the type of the True condition with the latest time of that field. It is an error if two of them have the same.
func latest(t *testing.T, object, field string) string {
	t.Helper()
	var are []gjson.Result
	for _, c := range gjson.Get(object, "status.conditions").Array() {
		if c.Get("status").String() == "True" {
			are = append(are, c)
		}
	}
	at := func(c gjson.Result) time.Time { return c.Get(field).Time() }
	slices.SortStableFunc(are, func(a, b gjson.Result) int { return at(b).Compare(at(a)) })
	for i := 1; i < len(are); i++ {
		if at(are[i]).Equal(at(are[i-1])) {
			t.Errorf("%s and %s have the same %s in %s", are[i].Get("type"), are[i-1].Get("type"), field, object)
		}
	}
	return cmp.Or(are[0].Get("type").String(), "none")
}

// flyte returns the condition that Flyte takes for the present one. Source: flyteorg/flyte
// flyteplugins/go/tasks/plugins/k8s/kfoperators/common/common_operator.go, ExtractCurrentCondition, commit 060e1319a6c1.
func flyte(t *testing.T, object string) string {
	t.Helper()
	return latest(t, object, "lastTransitionTime")
}

// arena sorts by another time. Source: kubeflow/arena pkg/training/trainer_tensorflow.go, makeJobStatusSortedByTime, commit 40030a9eafad.
func arena(t *testing.T, object string) string {
	t.Helper()
	return latest(t, object, "lastUpdateTime")
}

// argo reports whether a successCondition or a failureCondition of a workflow's step holds: a selector whose keys are paths in the object.
// Sources: argoproj/argo-workflows workflow/executor/resource.go; the conditions: examples/k8s-resource-log-selector.yaml, commit 2b31a834a753.
func argo(t *testing.T, object, condition string) bool {
	t.Helper()
	selector, err := labels.Parse(condition)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(paths(object))
}

// paths is an object as labels.
type paths string

func (p paths) Has(label string) bool   { return gjson.Get(string(p), label).Exists() }
func (p paths) Get(label string) string { return gjson.Get(string(p), label).String() }
func (p paths) Lookup(label string) (string, bool) {
	return p.Get(label), p.Has(label)
}

// arena finds pods by the labels of its own templates, by a label of Kubeflow's operator and by the replica's type.
// Source: kubeflow/arena pkg/apis/utils, IsPyTorchPod, and pkg/training/trainer_pytorch.go, isChiefPod, commit 0692cf2c4105.
func TestArenaFindsPods(t *testing.T) {
	startOurs(t)
	m := movers{t, namespace(t, "arena")}
	j := job{m.namespace, "PyTorchJob", "j"}
	template := `{metadata: {labels: {release: j, app: pytorchjob}}, spec: {containers: [{name: pytorch, image: i}]}}`
	object := parse(t, `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: j, namespace: `+m.namespace+`, labels: {release: j, app: pytorchjob}},
		spec: {pytorchReplicaSpecs: {Master: {replicas: 1, template: `+template+`}, Worker: {replicas: 2, template: `+template+`}}}}`)
	if err := kube.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	chiefs := 0
	for name, pod := range m.hasPods(j, corev1.PodRunning) {
		for label, want := range map[string]string{"release": "j", "app": "pytorchjob", "training.kubeflow.org/operator-name": "pytorchjob-controller"} {
			if got := pod.Labels[label]; got != want {
				t.Errorf("%s has the label %s=%s, want %s", name, label, got, want)
			}
		}
		if pod.Labels["training.kubeflow.org/replica-type"] == "master" {
			chiefs++
		}
	}
	if chiefs != 1 {
		t.Error(fmt.Sprint(chiefs, " pods are of the master, want 1"))
	}
}
