package serve

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/kubeflow/convert"
)

func serve(t *testing.T, manifest string) *Served {
	t.Helper()
	served, err := read(t, manifest).Serve()
	if err != nil {
		t.Fatal(err)
	}
	served.Child.UID = "child"
	return served
}

// podOf returns the pod of the slot's first life.
func podOf(served *Served, slot state.Slot) *corev1.Pod {
	create := plan.CreatePod{Name: state.PodName(served.Child.Name, slot, state.Life{}), Slot: slot, Placement: &plan.Placement{}}
	return plan.Pods(served.Child)(create)
}

func TestTheKubeflowJobControlsTheChildren(t *testing.T) {
	served := serve(t, pytorchJob)
	job := metav1.OwnerReference{APIVersion: "kubeflow.org/v1", Kind: "PyTorchJob", Name: "j", UID: "u", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}
	want := []metav1.OwnerReference{job, {APIVersion: "trainingjob.dev/v1alpha1", Kind: "TrainingJob", Name: "j", UID: "child"}}
	pod := podOf(served, state.Slot{Role: v1alpha1.Master})
	if diff := cmp.Diff(want, pod.OwnerReferences); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]metav1.OwnerReference{job}, served.Child.OwnerReferences); diff != "" {
		t.Error(diff)
	}
	if got := pod.Labels["training.kubeflow.org/operator-name"]; got != "pytorchjob-controller" {
		t.Errorf("operator-name %q", got)
	}
}

// The values come from Training Operator 1.9.4: pkg/controller.v1/pytorch/envvar.go, and its own specs.
func TestVariablesOfKubeflowsOperator(t *testing.T) {
	env := map[string]string{}
	for _, v := range podOf(serve(t, pytorchJob), state.Slot{Role: v1alpha1.Worker, Index: 1}).Spec.Containers[0].Env {
		env[v.Name] = v.Value
	}
	for name, want := range map[string]string{
		"MASTER_ADDR": "j-master-0", "MASTER_PORT": "23456", "PET_MASTER_ADDR": "j-master-0", "WORLD_SIZE": "3", "RANK": "2", "PET_NODE_RANK": "2",
		"PET_NPROC_PER_NODE": "auto", "PET_NNODES": "3", "PYTHONUNBUFFERED": "1",
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
}

// The operator's variables win over the template's, as Kubeflow's operator appends its own: pkg/controller.v1 of Training Operator 1.9.4.
func TestVariablesOfTheOperatorWinOverTheTemplates(t *testing.T) {
	one := `{replicas: 1, template: {spec: {containers: [{name: C, image: i, env: [ENV]}]}}}`
	two := strings.Replace(one, "replicas: 1", "replicas: 2", 1)
	for name, c := range map[string]struct {
		kind, container, spec, env string
		slot                       state.Slot
		want                       map[string]string
	}{
		"PyTorch": {"PyTorchJob", "pytorch", "pytorchReplicaSpecs: {Master: " + one + ", Worker: " + one + "}",
			`{name: RANK, value: "0"}, {name: WORLD_SIZE, value: "1"}, {name: MASTER_ADDR, value: localhost}, {name: MASTER_PORT, value: "1"}, {name: PET_NNODES, value: "1"}, {name: PYTHONUNBUFFERED, value: "0"}, {name: A, value: b}`,
			state.Slot{Role: v1alpha1.Worker}, map[string]string{"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "j-master-0", "MASTER_PORT": "23456", "PET_NNODES": "2", "PYTHONUNBUFFERED": "1", "A": "b"}},
		"PyTorch without a Master": {"PyTorchJob", "pytorch", "pytorchReplicaSpecs: {Worker: " + two + "}",
			`{name: RANK, value: "7"}`, state.Slot{Role: v1alpha1.Worker}, map[string]string{"RANK": "7"}},
		"a number of processes": {"PyTorchJob", "pytorch", "nprocPerNode: '8', pytorchReplicaSpecs: {Master: " + one + ", Worker: " + one + "}",
			`{name: PET_NPROC_PER_NODE, value: "3"}`, state.Slot{Role: v1alpha1.Worker}, map[string]string{"WORLD_SIZE": "16", "RANK": "1", "PET_NPROC_PER_NODE": "8", "PET_NNODES": "2"}},
		"processes by the program": {"PyTorchJob", "pytorch", "nprocPerNode: gpu, pytorchReplicaSpecs: {Master: " + one + ", Worker: " + one + "}",
			`{name: A, value: b}`, state.Slot{Role: v1alpha1.Worker}, map[string]string{"WORLD_SIZE": "2", "PET_NPROC_PER_NODE": "gpu"}},
		"elastic": {"PyTorchJob", "pytorch", "elasticPolicy: {rdzvBackend: c10d, minReplicas: 1, maxReplicas: 2}, pytorchReplicaSpecs: {Worker: " + two + "}",
			`{name: PET_RDZV_BACKEND, value: static}, {name: PET_RDZV_ENDPOINT, value: x}`, state.Slot{Role: v1alpha1.Worker},
			map[string]string{"PET_RDZV_BACKEND": "c10d", "PET_RDZV_ENDPOINT": "j-worker-0:23456"}},
		"TensorFlow": {"TFJob", "tensorflow", "tfReplicaSpecs: {PS: " + one + ", Worker: " + one + "}", `{name: TF_CONFIG, value: x}, {name: PYTHONUNBUFFERED, value: "0"}`,
			state.Slot{Role: v1alpha1.Worker}, map[string]string{"TF_CONFIG": `{"cluster":{"ps":["j-ps-0:2222"],"worker":["j-worker-0:2222"]},"task":{"type":"worker","index":0},"environment":"cloud"}`, "PYTHONUNBUFFERED": "0"}},
		"TensorFlow alone": {"TFJob", "tensorflow", "tfReplicaSpecs: {Worker: " + one + "}", `{name: TF_CONFIG, value: x}`,
			state.Slot{Role: v1alpha1.Worker}, map[string]string{"TF_CONFIG": "x"}},
		"a TensorFlow side-car": {"TFJob", "side", "tfReplicaSpecs: {Worker: " + two + "}", `{name: TF_CONFIG, value: x}`,
			state.Slot{Role: v1alpha1.Worker}, map[string]string{"TF_CONFIG": "x"}},
		"XGBoost": {"XGBoostJob", "xgboost", "xgbReplicaSpecs: {Master: " + one + ", Worker: " + one + "}", `{name: RANK, value: "0"}, {name: WORKER_ADDRS, value: x}`,
			state.Slot{Role: v1alpha1.Worker}, map[string]string{"RANK": "1", "WORKER_ADDRS": "j-worker-0"}},
		"Paddle": {"PaddleJob", "paddle", "paddleReplicaSpecs: {Worker: " + two + "}", `{name: PADDLE_NNODES, value: "9"}`,
			state.Slot{Role: v1alpha1.Worker}, map[string]string{"PADDLE_NNODES": "2"}},
		"JAX": {"JAXJob", "jax", "jaxReplicaSpecs: {Worker: " + two + "}", `{name: PROCESS_ID, value: "0"}`,
			state.Slot{Role: v1alpha1.Worker, Index: 1}, map[string]string{"PROCESS_ID": "1"}},
	} {
		manifest := strings.NewReplacer("name: C", "name: "+c.container, "ENV", c.env).Replace("{apiVersion: kubeflow.org/v1, kind: " + c.kind + ", metadata: {name: j, namespace: ns, uid: u}, spec: {" + c.spec + "}}")
		served, env := serve(t, manifest), map[string]string{}
		for _, v := range podOf(served, c.slot).Spec.Containers[0].Env {
			if _, isTwice := env[v.Name]; isTwice {
				t.Errorf("%s: %s stands twice", name, v.Name)
			}
			env[v.Name] = v.Value
		}
		for variable, want := range c.want {
			if env[variable] != want {
				t.Errorf("%s: %s is %q, want %q", name, variable, env[variable], want)
			}
		}
		if text := served.changes(); strings.Contains(text, ".env") || strings.Contains(text, "PET_") {
			t.Errorf("%s: the Event shows %q, and nothing has changed", name, text)
		}
	}
}

// A flag of Kubeflow's operator selects the scheduler of gangs, and no job does.
func TestNoFieldOfAServedJobSelectsTheScheduler(t *testing.T) {
	for name, manifest := range map[string]string{
		"a queue":                pytorchJob + "  runPolicy: {schedulingPolicy: {queue: default, minAvailable: 2}}\n",
		"a template's scheduler": strings.ReplaceAll(pytorchJob, "{spec: {", "{spec: {schedulerName: volcano, "),
	} {
		if scheduling := serve(t, manifest).Child.Spec.Scheduling; scheduling != nil && scheduling.Gang != "" {
			t.Errorf("%s: gang %s, want the operator's", name, scheduling.Gang)
		}
	}
	scheduling := serve(t, pytorchJob+"  runPolicy: {schedulingPolicy: {queue: default, minAvailable: 2}}\n").Child.Spec.Scheduling
	if diff := cmp.Diff(&v1alpha1.Scheduling{Queue: "default", MinAvailable: ptr.To[int32](2)}, scheduling); diff != "" {
		t.Error(diff)
	}
}

// The API server takes an Event of at most 1,024 bytes.
func TestAnEventFitsIntoTheAPI(t *testing.T) {
	job := read(t, pytorchJob)
	r, _ := reconcilerOf(t, job)
	r.Warn(job, "R", strings.Repeat("é", 2000))
	r.note(job, &Served{Notes: slices.Repeat([]convert.Note{{Effect: convert.Changed, Path: "spec", Advice: strings.Repeat("x", 100)}}, 50)})
	if err := r.refuse(t.Context(), job, strings.Repeat("é", 2000)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, message, _ := strings.Cut(<-r.Events.(*events.FakeRecorder).Events, " ")
		if _, message, _ = strings.Cut(message, " "); len(message) > 1024 || len(message) < 1000 {
			t.Errorf("an Event of %d bytes", len(message))
		}
	}
}

// A Master of a PaddleJob keeps its name and its meaning, and its success is the job's. Source: pkg/controller.v1/paddlepaddle of Training
// Operator 1.9.4: envvar.go, and its own specs.
func TestAPaddleMasterIsServedAsAMaster(t *testing.T) {
	template := `{spec: {containers: [{name: paddle, image: i, ports: [{name: master, containerPort: 8080}]}]}}`
	served := serve(t, `{apiVersion: kubeflow.org/v1, kind: PaddleJob, metadata: {name: j, namespace: ns, uid: u},
  spec: {paddleReplicaSpecs: {Master: {replicas: 1, template: `+template+`}, Worker: {replicas: 2, template: `+template+`}}}}`)
	for slot, want := range map[state.Slot]map[string]string{
		{Role: v1alpha1.Master}: {"PADDLE_MASTER": "$(POD_IP_DUMMY):8080", "PADDLE_SERVER_NUM": "1", "PADDLE_TRAINER_NUM": "", "PADDLE_NNODES": "3"},
		{Role: v1alpha1.Worker}: {"PADDLE_MASTER": "j-master-0:8080", "PADDLE_SERVER_NUM": "", "PADDLE_TRAINER_NUM": "1", "PADDLE_NNODES": "3"},
	} {
		env := map[string]string{}
		for _, v := range podOf(served, slot).Spec.Containers[0].Env {
			env[v.Name] = v.Value
		}
		for name, value := range want {
			if env[name] != value {
				t.Errorf("%s: %s is %q, want %q", slot, name, env[name], value)
			}
		}
	}
	if served.Child.Spec.SuccessPolicy == v1alpha1.SuccessAllWorkers {
		t.Error("the job waits for all workers, not for the master")
	}
}

func TestServices(t *testing.T) {
	ports := `ports: [{name: pytorchjob-port, containerPort: 8080, protocol: TCP}]`
	for name, c := range map[string]struct {
		manifest string
		want     map[string]int32
	}{
		"one for each replica":            {pytorchJob, map[string]int32{"j-master-0": 23456, "j-worker-0": 23456, "j-worker-1": 23456}},
		"the declared port":               {strings.ReplaceAll(pytorchJob, "image: i", "image: i, "+ports), map[string]int32{"j-master-0": 8080, "j-worker-0": 8080, "j-worker-1": 8080}},
		"the kind's port without one":     {tfJob, map[string]int32{"j-ps-0": 2222, "j-worker-0": 2222, "j-worker-1": 2222}},
		"none while the job is suspended": {pytorchJob + "  runPolicy: {suspend: true}\n", nil},
		"none if the annotation says so":  {strings.Replace(pytorchJob, "uid: u", "uid: u, annotations: {trainingjob.dev/replica-services: None}", 1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got map[string]int32
			job, child := read(t, c.manifest), serve(t, c.manifest).Child
			for _, host := range job.hosts(child) {
				service := job.service(child, host)
				if got == nil {
					got = map[string]int32{}
				}
				got[service.Name] = service.Spec.Ports[0].Port
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The API server gives each job metadata that no TrainingJob takes over.
func TestAnEventShowsOnlyWhatHasAnotherMeaning(t *testing.T) {
	manifest := strings.Replace(pytorchJob, "uid: u", `uid: u, resourceVersion: "1", generation: 1, finalizers: [a/b]`, 1)
	if text := serve(t, manifest).changes(); text != "" {
		t.Errorf("the Event would show %q, want none", text)
	}
	metrics := "  elasticPolicy: {minReplicas: 1, maxReplicas: 2, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}\n"
	if text := serve(t, manifest+metrics).changes(); strings.Contains(text, "HorizontalPodAutoscaler") {
		t.Errorf("the Event would show %q, and the operator makes the autoscaler", text)
	}
	if text := serve(t, manifest+"  runPolicy: {cleanUp: All}\n").changes(); !strings.HasPrefix(text, "spec.runPolicy.cleanUp: is no field of PyTorchJob") {
		t.Errorf("the Event would show %q, want the misspelled field", text)
	}
}

// What no field of the job says holds as under Kubeflow's operator.
func TestDefaults(t *testing.T) {
	manifest := strings.Replace(pytorchJob, "uid: u", "uid: u, labels: {kueue.x-k8s.io/queue-name: q, team: a}", 1) +
		"  runPolicy: {ttlSecondsAfterFinished: 10, managedBy: kubeflow.org/training-operator}\n"
	child := serve(t, manifest).Child
	if diff := cmp.Diff(map[string]string{"team": "a"}, child.Labels); diff != "" {
		t.Errorf("labels: %s", diff)
	}
	if child.Spec.RunPolicy.TTLSecondsAfterFinished != nil || child.Spec.ManagedBy != "" {
		t.Errorf("ttl %v, managedBy %q: the Kubeflow job's own controller honours both", child.Spec.RunPolicy.TTLSecondsAfterFinished, child.Spec.ManagedBy)
	}
	if r := child.Spec.Recovery; *r.MaxRestarts != 1000 || *r.WindowSeconds != 60 || r.RestartMethod != v1alpha1.RestartRecreate {
		t.Errorf("recovery %+v: a job without backoffLimit has no limit", r)
	}
	if child.Spec.RunPolicy.CleanPodPolicy != v1alpha1.CleanNone {
		t.Errorf("cleanPodPolicy %q", child.Spec.RunPolicy.CleanPodPolicy)
	}
}

func TestOverrides(t *testing.T) {
	with := func(patch string) *Job {
		job := read(t, pytorchJob)
		job.Annotations = map[string]string{v1alpha1.AnnotationOverrides: patch}
		return job
	}
	served, err := with(`{"recovery":{"restartMethod":"InPlace","maxRestarts":7}}`).Serve()
	if err != nil {
		t.Fatal(err)
	}
	if r := served.Child.Spec.Recovery; r.RestartMethod != v1alpha1.RestartInPlace || *r.MaxRestarts != 7 || *r.WindowSeconds != 60 {
		t.Errorf("recovery %+v", r)
	}
	for patch, want := range map[string]string{
		`{"recovery":{"maxRestart":7}}`:               `unknown field "maxRestart"`,
		`{"runPolicy":{"ttlSecondsAfterFinished":7}}`: "set that in the job itself",
		`recovery: {}`:                      "write a JSON merge patch",
		`null`:                              "write a JSON merge patch",
		`{"recovery":{}} {"suspend":false}`: "write a JSON merge patch",
	} {
		if served, err := with(patch).Serve(); err != nil || served.Refused == nil || !strings.Contains(served.Refused.Error(), want) {
			t.Errorf("%s: %+v, error %v, want %q", patch, served, err, want)
		}
	}
}

// Kueue counts the Kubeflow job, and does not read its annotations. docs/migrating.md lists what overrides may set.
func TestOverridesSetNothingThatKueueCounts(t *testing.T) {
	held := strings.Replace(pytorchJob, "spec:\n", "spec:\n  runPolicy: {suspend: true}\n", 1)
	plain := serve(t, held).Child.Spec
	for _, patch := range []string{
		`{"suspend":false}`, `{"Suspend":false}`, `{"ſuspend":false}`, `{"suspend":null}`, `{"recovery":{"maxRestarts":7},"suspend":false}`,
		`{"replicaSpecs":{"Worker":{"replicas":6}}}`, `{"elastic":{"minReplicas":1,"maxReplicas":9}}`,
		`{"scheduling":{"gang":"None"}}`, `{"framework":"Custom"}`, `{"managedBy":"other"}`, `{"topology":{}}`,
	} {
		job := read(t, held)
		job.Annotations = map[string]string{v1alpha1.AnnotationOverrides: patch}
		served, err := job.Serve()
		if err != nil || served.Refused == nil {
			t.Errorf("%s: refused by %v, error %v", patch, served, err)
			continue
		}
		if diff := cmp.Diff(plain, served.Child.Spec); diff != "" {
			t.Errorf("%s changes the TrainingJob: %s", patch, diff)
		}
	}
	job := read(t, held)
	job.Annotations = map[string]string{v1alpha1.AnnotationOverrides: `{"recovery":{"maxRestarts":7},"progress":{"port":8080},"successPolicy":"AnyWorker"}`}
	served, err := job.Serve()
	if err != nil || served.Refused != nil {
		t.Fatal(served, err)
	}
	if spec := served.Child.Spec; !spec.IsSuspended() || *spec.Recovery.MaxRestarts != 7 || spec.Progress == nil || spec.SuccessPolicy != v1alpha1.SuccessAnyWorker {
		t.Errorf("recovery, progress and successPolicy are %+v, %+v, %s", spec.Recovery, spec.Progress, spec.SuccessPolicy)
	}
}

// A Kubeflow job cannot bring the status of another cluster: only Kueue's adapter carries one.
func TestAKubeflowJobBringsNoCarriedStatus(t *testing.T) {
	job := read(t, pytorchJob)
	job.source.SetAnnotations(map[string]string{v1alpha1.AnnotationCarriedStatus: "{}", v1alpha1.AnnotationRestart: "a"})
	served, err := job.Serve()
	if err != nil {
		t.Fatal(err)
	}
	if _, isSet := served.Child.Annotations[v1alpha1.AnnotationCarriedStatus]; isSet || served.Child.Annotations[v1alpha1.AnnotationRestart] != "a" {
		t.Errorf("annotations %v", served.Child.Annotations)
	}
}

func TestParseKinds(t *testing.T) {
	for name, want := range map[string]string{"MPIJob": "mpi", "TfJob": "write PyTorchJob, TFJob", "": "write PyTorchJob"} {
		if _, err := ParseKinds([]string{name}); err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
			t.Errorf("%q: error %v, want %q", name, err, want)
		}
	}
	if _, err := ParseKinds([]string{"TFJob", "TFJob"}); err == nil {
		t.Error("a kind named twice is no error")
	}
	if parsed, err := ParseKinds(nil); err != nil || len(parsed) != 0 {
		t.Errorf("no kinds: %v, %v", parsed, err)
	}
}

// A restored job begins behind the checkpoints of the old one (docs/install.md).
func TestTheFirstAttemptOfAJobIsThatOfItsTrainingJob(t *testing.T) {
	served, err := read(t, strings.Replace(servable, "labels: {team: a}", `annotations: {trainingjob.dev/first-attempt: "7"}`, 1)).Serve()
	if err != nil {
		t.Fatal(err)
	}
	if got := served.Child.Annotations[v1alpha1.AnnotationFirstAttempt]; got != "7" {
		t.Errorf("first attempt %q, want 7", got)
	}
}
