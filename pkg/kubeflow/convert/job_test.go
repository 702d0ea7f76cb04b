package convert_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/kubeflow/convert"
)

// read decodes a job whose templates are written as one word.
func read(t *testing.T, text string) map[string]any {
	t.Helper()
	text = strings.ReplaceAll(text, "TEMPLATE", `{spec: {containers: [{name: main, image: i}]}}`)
	var object map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

const (
	tf    = "{apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: j}, spec: "
	torch = "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: j}, spec: "
	mpi   = "{apiVersion: kubeflow.org/v1, kind: MPIJob, metadata: {name: j}, spec: "
)

func TestWhatCannotBeConvertedSaysWhy(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"another kind":         {"{apiVersion: batch/v1, kind: Job}", "batch/v1 Job is no job of Kubeflow's training operator: write a TFJob"},
		"another version":      {"{apiVersion: kubeflow.org/v1beta2, kind: TFJob}", "TFJob of kubeflow.org/v1beta2 is not known: write it as one of kubeflow.org/v1"},
		"no name":              {"{apiVersion: kubeflow.org/v1, kind: TFJob, spec: {tfReplicaSpecs: {Worker: {template: TEMPLATE}}}}", "metadata.name is missing"},
		"no roles":             {tf + "{}}", "spec.tfReplicaSpecs has no role: write Chief, Master, Worker, PS, Evaluator"},
		"an unknown role":      {torch + "{pytorchReplicaSpecs: {PS: {template: TEMPLATE}}}}", "spec.pytorchReplicaSpecs.PS is no role of PyTorchJob: write Master, Worker"},
		"a role twice":         {tf + "{tfReplicaSpecs: {Chief: {template: TEMPLATE}, Master: {template: TEMPLATE}}}}", "spec.tfReplicaSpecs.Master and Chief become one role"},
		"two chiefs":           {tf + "{tfReplicaSpecs: {Chief: {replicas: 2, template: TEMPLATE}}}}", "spec.tfReplicaSpecs.Chief.replicas is 2: a job has one Chief"},
		"fewer than none":      {tf + "{tfReplicaSpecs: {Worker: {replicas: -1, template: TEMPLATE}}}}", "spec.tfReplicaSpecs.Worker.replicas is -1"},
		"a word for a number":  {tf + "{tfReplicaSpecs: {Worker: {replicas: two, template: TEMPLATE}}}}", `spec.tfReplicaSpecs.Worker.replicas is "two", which its type (whole number) cannot hold`},
		"half a replica":       {tf + "{tfReplicaSpecs: {Worker: {replicas: 1.5, template: TEMPLATE}}}}", `spec.tfReplicaSpecs.Worker.replicas is 1.5`},
		"a list for an object": {tf + "{tfReplicaSpecs: [Worker]}}", "spec.tfReplicaSpecs is [\"Worker\"], which its type (object) cannot hold"},
		"no template":          {tf + "{tfReplicaSpecs: {Worker: {}}}}", "spec.tfReplicaSpecs.Worker.template is missing"},
		"no containers":        {tf + "{tfReplicaSpecs: {Worker: {template: {spec: {}}}}}}", "spec.tfReplicaSpecs.Worker.template.spec.containers is empty"},
		"no pod template":      {tf + "{tfReplicaSpecs: {Worker: {template: {spec: {containers: main}}}}}}", "spec.tfReplicaSpecs.Worker.template is no pod template"},
		"a restart policy":     {tf + "{tfReplicaSpecs: {Worker: {restartPolicy: Sometimes, template: TEMPLATE}}}}", "restartPolicy is Sometimes: write Never, OnFailure, Always or ExitCode"},
		"a clean-up":           {tf + "{runPolicy: {cleanPodPolicy: Some}, tfReplicaSpecs: {Worker: {template: TEMPLATE}}}}", "spec.runPolicy.cleanPodPolicy is Some: write None, Running or All"},
		"a negative limit":     {tf + "{runPolicy: {backoffLimit: -2}, tfReplicaSpecs: {Worker: {template: TEMPLATE}}}}", "spec.runPolicy.backoffLimit is -2"},
		"a success policy":     {tf + "{successPolicy: Any, tfReplicaSpecs: {Worker: {template: TEMPLATE}}}}", "spec.successPolicy is Any"},
		"bounds upside down":   {torch + "{elasticPolicy: {minReplicas: 3, maxReplicas: 2}, pytorchReplicaSpecs: {Worker: {template: TEMPLATE}}}}", "spec.elasticPolicy has minReplicas 3 and maxReplicas 2"},
		"elastic, no workers":  {torch + "{elasticPolicy: {}, pytorchReplicaSpecs: {Master: {template: TEMPLATE}}}}", "spec.elasticPolicy needs a role Worker"},
		"etcd inside the job":  {torch + "{elasticPolicy: {rdzvBackend: etcd}, pytorchReplicaSpecs: {Worker: {template: TEMPLATE}}}}", "spec.elasticPolicy.rdzvHost is missing"},
		"another backend":      {torch + "{elasticPolicy: {rdzvBackend: zookeeper}, pytorchReplicaSpecs: {Worker: {template: TEMPLATE}}}}", "spec.elasticPolicy.rdzvBackend is zookeeper"},
		"no launcher":          {mpi + "{mpiReplicaSpecs: {Worker: {replicas: 1, template: TEMPLATE}}}}", "spec.mpiReplicaSpecs.Launcher is missing"},
	} {
		job, _, err := convert.Job(read(t, c.source))
		if err == nil || !strings.Contains(err.Error(), c.want) || job != nil {
			t.Errorf("%s: job %v, error %v, want one with %q", name, job, err, c.want)
		}
	}
}

func TestSuccessOf(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		want   v1alpha1.SuccessPolicy
	}{
		"a TFJob is its worker 0's":                     {tf + "{tfReplicaSpecs: {Worker: {replicas: 2, template: TEMPLATE}}}}", ""},
		"a TFJob that waits for all":                    {tf + "{successPolicy: AllWorkers, tfReplicaSpecs: {Worker: {replicas: 2, template: TEMPLATE}}}}", v1alpha1.SuccessAllWorkers},
		"a TFJob with a chief is his in any case":       {tf + "{successPolicy: AllWorkers, tfReplicaSpecs: {Chief: {template: TEMPLATE}, Worker: {template: TEMPLATE}}}}", ""},
		"a PyTorchJob is its master's":                  {torch + "{pytorchReplicaSpecs: {Master: {template: TEMPLATE}, Worker: {replicas: 2, template: TEMPLATE}}}}", ""},
		"a PyTorchJob without a master is all workers'": {torch + "{pytorchReplicaSpecs: {Worker: {replicas: 2, template: TEMPLATE}}}}", v1alpha1.SuccessAllWorkers},
		"an elastic PyTorchJob is its first worker's":   {torch + "{elasticPolicy: {}, pytorchReplicaSpecs: {Worker: {replicas: 2, template: TEMPLATE}}}}", v1alpha1.SuccessAnyWorker},
		"an elastic PyTorchJob with a master is his":    {torch + "{elasticPolicy: {}, pytorchReplicaSpecs: {Master: {template: TEMPLATE}, Worker: {template: TEMPLATE}}}}", ""},
		"a JAXJob is all workers'":                      {"{apiVersion: kubeflow.org/v1, kind: JAXJob, metadata: {name: j}, spec: {jaxReplicaSpecs: {Worker: {replicas: 2, template: TEMPLATE}}}}", v1alpha1.SuccessAllWorkers},
		"a JAXJob of one worker is worker 0's":          {"{apiVersion: kubeflow.org/v1, kind: JAXJob, metadata: {name: j}, spec: {jaxReplicaSpecs: {Worker: {template: TEMPLATE}}}}", ""},
	} {
		job, _, err := convert.Job(read(t, c.source))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if job.Spec.SuccessPolicy != c.want {
			t.Errorf("%s: successPolicy %q, want %q", name, job.Spec.SuccessPolicy, c.want)
		}
	}
}

func TestElasticOf(t *testing.T) {
	const workers = "pytorchReplicaSpecs: {Worker: {replicas: 3, template: TEMPLATE}}}}"
	inside := func(low, high int32) *v1alpha1.Elastic { return &v1alpha1.Elastic{MinReplicas: low, MaxReplicas: high} }
	outside := inside(3, 3)
	outside.Rendezvous = &v1alpha1.Rendezvous{Backend: "c10d", Endpoint: "store:23456"}
	for name, c := range map[string]struct {
		source string
		want   *v1alpha1.Elastic
	}{
		"a policy without bounds is the number of workers": {torch + "{elasticPolicy: {}, " + workers, inside(3, 3)},
		"one bound is both":                                {torch + "{elasticPolicy: {maxReplicas: 5}, " + workers, inside(5, 5)},
		"a store in the job needs no address":              {torch + "{elasticPolicy: {rdzvHost: j-worker-0, rdzvPort: 29400, rdzvBackend: c10d}, " + workers, inside(3, 3)},
		"a store outside has the port of the kind":         {torch + "{elasticPolicy: {rdzvHost: store}, " + workers, outside},
		"dynamic workers have bounds now":                  {tf + "{enableDynamicWorker: true, tfReplicaSpecs: {PS: {template: TEMPLATE}, Worker: {replicas: 3, template: TEMPLATE}}}}", inside(1, 100)},
		"many dynamic workers stay":                        {tf + "{enableDynamicWorker: true, tfReplicaSpecs: {PS: {template: TEMPLATE}, Worker: {replicas: 300, template: TEMPLATE}}}}", inside(1, 300)},
		"dynamic workers without parameter servers do not": {tf + "{enableDynamicWorker: true, tfReplicaSpecs: {Worker: {replicas: 3, template: TEMPLATE}}}}", nil},
	} {
		job, _, err := convert.Job(read(t, c.source))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, job.Spec.Elastic); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A launcher without workers ran its ranks in its own pod. An MPI job has workers, so it becomes one of another framework.
func TestAnMPIJobWithoutWorkersIsACustomJob(t *testing.T) {
	job, report, err := convert.Job(read(t, mpi+"{slotsPerWorker: 4, mpiReplicaSpecs: {Launcher: {template: TEMPLATE}, Worker: {template: TEMPLATE}}}}"))
	if err != nil {
		t.Fatal(err)
	}
	if job.Spec.Framework != v1alpha1.Custom || job.Spec.MPI != nil || len(job.Spec.ReplicaSpecs) != 1 {
		t.Errorf("framework %s, mpi %v, %d roles", job.Spec.Framework, job.Spec.MPI, len(job.Spec.ReplicaSpecs))
	}
	if !strings.Contains(report.String(), "becomes a job of framework Custom") {
		t.Errorf("the report does not say so:\n%s", report)
	}
}

// What Job is given is the caller's.
func TestTheSourceIsNotChanged(t *testing.T) {
	source := read(t, mpi+"{cleanPodPolicy: All, mpiReplicaSpecs: {Launcher: {template: TEMPLATE}, Worker: {replicas: 1, template: TEMPLATE}}}}")
	before, _ := yaml.Marshal(source)
	if _, _, err := convert.Job(source); err != nil {
		t.Fatal(err)
	}
	if after, _ := yaml.Marshal(source); string(after) != string(before) {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
}

// The former operator put its variables after the template's, and the last one counts. A TrainingJob's template wins.
func TestVariablesThatTheOperatorOverwrote(t *testing.T) {
	const workers = `pytorchReplicaSpecs: {%s: {template: {spec: {containers: [{name: pytorch, image: i, env: [{name: RANK, value: "7"}, {name: PET_NPROC_PER_NODE, value: "3"}]}]}}}}}}`
	for name, c := range map[string]struct {
		source string
		noted  []string // the variables that a note says to leave out
		env    []corev1.EnvVar
	}{
		"with a master RANK was": {torch + "{" + fmt.Sprintf(workers, "Master"), []string{"RANK=7", "PET_NPROC_PER_NODE=3"},
			[]corev1.EnvVar{{Name: "RANK", Value: "7"}, {Name: "PET_NPROC_PER_NODE", Value: "3"}}},
		"without one it was not": {torch + "{" + fmt.Sprintf(workers, "Worker"), []string{"PET_NPROC_PER_NODE=3"},
			[]corev1.EnvVar{{Name: "RANK", Value: "7"}, {Name: "PET_NPROC_PER_NODE", Value: "3"}}},
		"nprocPerNode still does": {torch + `{nprocPerNode: "8", ` + fmt.Sprintf(workers, "Worker"), []string{"PET_NPROC_PER_NODE=3"},
			[]corev1.EnvVar{{Name: "RANK", Value: "7"}, {Name: "PET_NPROC_PER_NODE", Value: "8"}}},
	} {
		job, report, err := convert.Job(read(t, c.source))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var noted []string
		for _, n := range report.Notes {
			if strings.Contains(n.Path, ".env[") && n.Effect == convert.Changed {
				noted = append(noted, strings.Trim(n.Value, `"`))
			}
		}
		if diff := cmp.Diff(c.noted, noted); diff != "" {
			t.Errorf("%s: noted (-want +got):\n%s", name, diff)
		}
		for _, spec := range job.Spec.ReplicaSpecs {
			if diff := cmp.Diff(c.env, spec.Template.Spec.Containers[0].Env); diff != "" {
				t.Errorf("%s: variables (-want +got):\n%s", name, diff)
			}
		}
	}
}

// Kubeflow's default is auto, and the pod does not show how many devices its claims hold.
func TestProcessesPerClaim(t *testing.T) {
	const source = torch + `{pytorchReplicaSpecs: {Worker: {template: {spec: {containers: [{name: pytorch, image: i, resources: {limits: {cpu: "8"}, claims: [{name: gpus}]}}], ` +
		`resourceClaims: [{name: gpus, resourceClaimTemplateName: eight}]}}}}}}`
	job, report, err := convert.Job(read(t, source))
	if err != nil {
		t.Fatal(err)
	}
	want := []corev1.EnvVar{{Name: "PET_NPROC_PER_NODE", Value: "auto"}}
	if diff := cmp.Diff(want, job.Spec.ReplicaSpecs[v1alpha1.Worker].Template.Spec.Containers[0].Env); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if !slices.ContainsFunc(report.Notes, func(n convert.Note) bool {
		return strings.Contains(n.Advice, "does not count the devices of resource claims")
	}) {
		t.Errorf("the report does not name it: %v", report.Notes)
	}
}
