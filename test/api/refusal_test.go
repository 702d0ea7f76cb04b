//go:build e2e

package api_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/api/mistakes"
)

const mpiJob = `spec: {framework: MPI, replicaSpecs: {Launcher: {template: POD}}}`

// newJobs says for changes of the good job which sentence refuses it. None: it is accepted.
var newJobs = []struct{ name, change, refusal string }{
	{"a job as it should be", `{}`, ""},
	{
		"negative replicas", `spec: {replicaSpecs: {Worker: {replicas: -1}}}`,
		"spec.replicaSpecs.Worker.replicas in body should be greater than or equal to 0",
	},
	{
		"a million replicas", `spec: {replicaSpecs: {Worker: {replicas: 1000000}}}`,
		"spec.replicaSpecs.Worker.replicas in body should be less than or equal to 10000",
	},
	{"10,000 replicas in all roles together", `spec: {framework: Custom, replicaSpecs: {Worker: {replicas: 9999}, PS: {replicas: 1, template: POD}}}`, ""},
	{
		"10,001 replicas in all roles together", `spec: {framework: Custom, replicaSpecs: {Worker: {replicas: 10000}, PS: {replicas: 1, template: POD}}}`,
		"a job has at most 10000 replicas in all roles together",
	},
	{
		"a name of 64 characters", `metadata: {name: ` + strings.Repeat("a", 64) + `}`,
		"metadata.name is too long: each replica gets the host name <name>-<role>-<index>, which must fit the 63 characters of a DNS label; write a shorter name",
	},
	{"a name that just leaves room for role and index", `metadata: {name: ` + strings.Repeat("a", 54) + `}`, ""},
	{
		"a name that leaves no room for the index of 10 workers", `{metadata: {name: ` + strings.Repeat("a", 55) + `}, spec: {replicaSpecs: {Worker: {replicas: 10}}}}`,
		"metadata.name is too long",
	},
	{
		"a name that leaves no room for the workers it may be scaled to",
		`{metadata: {name: ` + strings.Repeat("a", 53) + `}, spec: {elastic: {minReplicas: 1, maxReplicas: 1000}}}`,
		"metadata.name is too long",
	},
	{
		"a name that begins with a digit", `metadata: {name: 3d}`,
		"metadata.name becomes the name of a Service and part of host names: write lower-case letters, digits and '-', beginning with a letter",
	},
	{"a name with a dot", `metadata: {name: a.b}`, "metadata.name becomes the name of a Service"},
	{
		"a topology that is required, without a gang", `spec: {scheduling: {topology: {key: rack, mode: Required}}}`,
		"without a gang the first pod chooses the domain, and nothing checks that the others fit there: write gang: Native, Volcano or Coscheduling beside topology.mode: Required, or mode: Preferred",
	},
	{"the same with gang: None", `spec: {scheduling: {gang: None, topology: {key: rack, mode: Required}}}`, "without a gang the first pod chooses the domain"},
	{"the same with a gang", `spec: {scheduling: {gang: Native, topology: {key: rack, mode: Required}}}`, ""},
	{"a topology that is preferred needs no gang", `spec: {scheduling: {topology: {key: rack}}}`, ""},
	{
		"a topology of a role that the job does not have", `spec: {scheduling: {topology: {key: rack, roles: [PS]}}}`,
		"scheduling.topology.roles names a role that the job does not have: write roles of replicaSpecs, one of them with replicas",
	},
	{"no framework", `spec: {framework: null}`, "spec.framework: Required value"},
	{
		"an unknown framework", `spec: {framework: Caffe}`,
		`spec.framework: Unsupported value: "Caffe": supported values: "TensorFlow", "PyTorch", "JAX", "MPI", "XGBoost", "LightGBM", "Paddle", "Custom"`,
	},
	{
		"an unknown role", `spec: {replicaSpecs: {Boss: {template: POD}}}`,
		"unknown role: write Chief, Master, Launcher, PS, Worker or Evaluator",
	},
	{"a role in lower case", `spec: {framework: Custom, replicaSpecs: {worker: {template: POD}}}`, "unknown role: write Chief, Master, Launcher, PS, Worker or Evaluator"},
	{"a role of the job's own", `spec: {framework: Custom, replicaSpecs: {actor: {template: POD}, learner2: {template: POD}}}`, ""},
	{"a role of the job's own with a strange name", `spec: {framework: Custom, replicaSpecs: {data-loader: {template: POD}}}`,
		"a Custom job may have others, with names of 1 to 15 lower-case letters and digits"},
	{"a role of its own with TensorFlow", `spec: {replicaSpecs: {actor: {template: POD}}}`, "a TensorFlow job has the roles Chief, PS, Worker and Evaluator"},
	{"no roles", `spec: {replicaSpecs: null}`, "spec.replicaSpecs: Required value"},
	{
		"parameter servers with PyTorch", `spec: {framework: PyTorch, replicaSpecs: {PS: {template: POD}}}`,
		"a PyTorch job has the roles Master, Worker and Evaluator; write framework: TensorFlow or framework: Custom for parameter servers, a Chief or a Launcher",
	},
	{
		"a chief with PyTorch", `spec: {framework: PyTorch, replicaSpecs: {Chief: {template: POD}}}`,
		"a PyTorch job has the roles Master, Worker and Evaluator",
	},
	{
		"a master with TensorFlow", `spec: {replicaSpecs: {Master: {template: POD}}}`,
		"a TensorFlow job has the roles Chief, PS, Worker and Evaluator; write Chief instead of Master",
	},
	{
		"a chief with JAX", `spec: {framework: JAX, replicaSpecs: {Chief: {template: POD}}}`,
		"a JAX job has the roles Worker and Evaluator; worker 0 is its coordinator",
	},
	{"a launcher with Custom", `spec: {framework: Custom, replicaSpecs: {Launcher: {template: POD}}}`, ""},
	{
		"a role without a template", `spec: {replicaSpecs: {Worker: {template: null}}}`,
		"spec.replicaSpecs.Worker.template: Required value",
	},
	{
		"a template without a pod", `spec: {replicaSpecs: {Worker: {template: {spec: null}}}}`,
		"template.spec.containers is missing: write at least one container with name and image",
	},
	{
		"a pod without containers", `spec: {replicaSpecs: {Worker: {template: {spec: {containers: null}}}}}`,
		"template.spec.containers is missing: write at least one container with name and image",
	},
	{
		"an empty list of containers", `spec: {replicaSpecs: {Worker: {template: {spec: {containers: []}}}}}`,
		"template.spec.containers is missing: write at least one container with name and image",
	},
	{
		"a container without an image", `spec: {replicaSpecs: {Worker: {template: {spec: {containers: [{name: main}]}}}}}`,
		"a container has no image: write template.spec.containers[].image",
	},
	{
		"two leaders", `spec: {framework: Custom, replicaSpecs: {Master: {template: POD}, Chief: {template: POD}}}`,
		"a job has one leader: write only one of Chief, Master and Launcher",
	},
	{
		"two chiefs", `spec: {replicaSpecs: {Chief: {replicas: 2, template: POD}}}`,
		"a job has one leader: write replicas: 1 for Chief, Master or Launcher",
	},
	{
		"neither a worker nor a leader", `spec: {replicaSpecs: {Worker: null, PS: {template: POD}}}`,
		"no replica can decide the job: write a Worker, Chief, Master or Launcher with at least 1 replica",
	},
	{
		"no worker left", `spec: {replicaSpecs: {Worker: {replicas: 0}}}`,
		"no replica can decide the job",
	},
	{
		"elastic bounds the wrong way round", `spec: {elastic: {minReplicas: 5, maxReplicas: 3}}`,
		"elastic.minReplicas must not be above elastic.maxReplicas",
	},
	{
		"fewer workers than the elastic bounds", `spec: {elastic: {minReplicas: 5, maxReplicas: 8}}`,
		"an elastic job needs replicaSpecs.Worker.replicas between elastic.minReplicas and elastic.maxReplicas",
	},
	{
		"elastic without workers", `spec: {elastic: {minReplicas: 1, maxReplicas: 8}, replicaSpecs: {Worker: null, Chief: {template: POD}}}`,
		"an elastic job needs replicaSpecs.Worker.replicas between elastic.minReplicas and elastic.maxReplicas",
	},
	{
		"an elastic TensorFlow job without parameter servers", `spec: {elastic: {minReplicas: 1, maxReplicas: 8}}`,
		"a TensorFlow job without parameter servers cannot be elastic",
	},
	{
		"an elastic JAX job", `spec: {framework: JAX, elastic: {minReplicas: 1, maxReplicas: 8}}`,
		"only PyTorch, TensorFlow and Custom jobs can be elastic: the number of processes of the others is fixed; leave elastic out",
	},
	{"a good MPI job", mpiJob, ""},
	{"an MPI job that says everything", `spec: {framework: MPI, mpi: {slotsPerWorker: 8, launchAgent: None}, replicaSpecs: {Launcher: {template: POD}}}`, ""},
	{"an MPI job without a launcher", `spec: {framework: MPI}`, "an MPI job has a Launcher, which runs mpirun, and at least one Worker; it has no other roles"},
	{"an MPI job without workers", `spec: {framework: MPI, replicaSpecs: {Worker: null, Launcher: {template: POD}}}`, "an MPI job has a Launcher, which runs mpirun, and at least one Worker"},
	{"an MPI job with no worker left", `spec: {framework: MPI, replicaSpecs: {Worker: {replicas: 0}, Launcher: {template: POD}}}`, "an MPI job has a Launcher, which runs mpirun, and at least one Worker"},
	{"an evaluator with MPI", `spec: {framework: MPI, replicaSpecs: {Evaluator: {template: POD}, Launcher: {template: POD}}}`, "it has no other roles"},
	{"an elastic MPI job", `spec: {framework: MPI, elastic: {minReplicas: 1, maxReplicas: 8}, replicaSpecs: {Launcher: {template: POD}}}`, "only PyTorch, TensorFlow and Custom jobs can be elastic"},
	{
		"an MPI job whose workers are to succeed", `spec: {framework: MPI, successPolicy: AllWorkers, replicaSpecs: {Launcher: {template: POD}}}`,
		"the workers of an MPI job do not end by themselves: write successPolicy: Leader",
	},
	{"mpi with TensorFlow", `spec: {mpi: {slotsPerWorker: 2}}`, "only an MPI job has a launcher that needs mpi: write framework: MPI or leave mpi out"},
	{"no slots", `spec: {framework: MPI, mpi: {slotsPerWorker: 0}, replicaSpecs: {Launcher: {template: POD}}}`, "spec.mpi.slotsPerWorker in body should be greater than or equal to 1"},
	{"an unknown launch agent", `spec: {framework: MPI, mpi: {launchAgent: rsh}, replicaSpecs: {Launcher: {template: POD}}}`, `supported values: "SSH", "None"`},
	{
		"root's key readable for a group", `spec: {framework: MPI, replicaSpecs: {Launcher: {template: {spec: {securityContext: {fsGroup: 100}, containers: [{name: main, image: busybox}]}}}}}`,
		"ssh of root takes no key that a group may read, and fsGroup makes the job's key such a one: leave securityContext.fsGroup out, or write the runAsUser of another user beside it",
	},
	{
		"root's key readable for a group, and it says who root is", `spec: {framework: MPI, replicaSpecs: {Launcher: {template: POD}, Worker: {template: {spec: {securityContext: {fsGroup: 100, runAsUser: 0}}}}}}`,
		"ssh of root takes no key that a group may read",
	},
	{"another user's key readable for a group", `spec: {framework: MPI, replicaSpecs: {Launcher: {template: POD}, Worker: {template: {spec: {securityContext: {fsGroup: 100, runAsUser: 1000}}}}}}`, ""},
	{"a key readable for the group of whoever is not root", `spec: {framework: MPI, replicaSpecs: {Launcher: {template: POD}, Worker: {template: {spec: {securityContext: {fsGroup: 100, runAsNonRoot: true}}}}}}`, ""},
	{"a group without a key", `spec: {framework: MPI, mpi: {launchAgent: None}, replicaSpecs: {Launcher: {template: POD}, Worker: {template: {spec: {securityContext: {fsGroup: 100}}}}}}`, ""},
	{"a group with TensorFlow", `spec: {replicaSpecs: {Worker: {template: {spec: {securityContext: {fsGroup: 100}}}}}}`, ""},
	{"as many MPI workers as the lists of hosts can hold", `spec: {framework: MPI, replicaSpecs: {Launcher: {template: POD}, Worker: {replicas: 3906}}}`, ""},
	{
		"more MPI workers than the lists of hosts can hold", `spec: {framework: MPI, replicaSpecs: {Launcher: {template: POD}, Worker: {replicas: 3907}}}`,
		"an MPI launcher gets its list of hosts as annotations, which cannot hold that many workers: write fewer replicas, each with more mpi.slotsPerWorker, or a shorter metadata.name",
	},
	{"as many TensorFlow workers as one variable can name", `spec: {replicaSpecs: {Worker: {replicas: 3774}}}`, ""},
	{
		"more TensorFlow workers than one variable can name", `spec: {replicaSpecs: {Worker: {replicas: 3775}}}`,
		"TF_CONFIG names every replica, and no program starts with a variable above 128 KiB: write fewer replicas, or a shorter metadata.name; a job with parameter servers can write elastic, whose TF_CONFIG names those and one worker",
	},
	{"parameter servers count with the workers", `spec: {replicaSpecs: {PS: {replicas: 2100, template: POD}, Worker: {replicas: 2000}}}`, "TF_CONFIG names every replica"},
	{"evaluators are not in it", `spec: {replicaSpecs: {Evaluator: {replicas: 2000, template: POD}, Worker: {replicas: 3774}}}`, ""},
	{"as many elastic workers as there may be", `spec: {elastic: {minReplicas: 1, maxReplicas: 9000}, replicaSpecs: {PS: {replicas: 1, template: POD}, Worker: {replicas: 9000}}}`, ""},
	{"as many XGBoost workers as one variable can name", `spec: {framework: XGBoost, replicaSpecs: {Worker: {replicas: 4721}}}`, ""},
	{
		"more XGBoost workers than one variable can name", `spec: {framework: XGBoost, replicaSpecs: {Worker: {replicas: 4722}}}`,
		"one variable names every worker of an XGBoost or LightGBM job, and every worker or server of a Paddle job with parameter servers, and no program starts with a variable above 128 KiB: write fewer replicas, or a shorter metadata.name",
	},
	{"as many LightGBM workers as one variable can name", `spec: {framework: LightGBM, replicaSpecs: {Worker: {replicas: 3888}}}`, ""},
	{"more LightGBM workers than one variable can name", `spec: {framework: LightGBM, replicaSpecs: {Worker: {replicas: 3889}}}`, "one variable names every worker of an XGBoost or LightGBM job"},
	{"as many Paddle workers and servers as two variables can name", `spec: {framework: Paddle, replicaSpecs: {PS: {replicas: 4406, template: POD}, Worker: {replicas: 3888}}}`, ""},
	{"more Paddle workers than one variable can name", `spec: {framework: Paddle, replicaSpecs: {PS: {replicas: 1, template: POD}, Worker: {replicas: 3889}}}`, "every worker or server of a Paddle job with parameter servers"},
	{"more Paddle servers than one variable can name", `spec: {framework: Paddle, replicaSpecs: {PS: {replicas: 4407, template: POD}}}`, "every worker or server of a Paddle job with parameter servers"},
	{"a Paddle collective, which names its master alone", `spec: {framework: Paddle, replicaSpecs: {Worker: {replicas: 10000}}}`, ""},
	{"XGBoost with all its roles", `spec: {framework: XGBoost, replicaSpecs: {Master: {template: POD}, Evaluator: {template: POD}}}`, ""},
	{"parameter servers with XGBoost", `spec: {framework: XGBoost, replicaSpecs: {PS: {template: POD}}}`, "an XGBoost or LightGBM job has the roles Master, Worker and Evaluator"},
	{"a chief with LightGBM", `spec: {framework: LightGBM, replicaSpecs: {Chief: {template: POD}}}`, "an XGBoost or LightGBM job has the roles Master, Worker and Evaluator"},
	{"an elastic LightGBM job", `spec: {framework: LightGBM, elastic: {minReplicas: 1, maxReplicas: 8}}`, "only PyTorch, TensorFlow and Custom jobs can be elastic"},
	{"Paddle with all its roles", `spec: {framework: Paddle, replicaSpecs: {Master: {template: POD}, PS: {template: POD}, Evaluator: {template: POD}}}`, ""},
	{"a launcher with Paddle", `spec: {framework: Paddle, replicaSpecs: {Launcher: {template: POD}}}`, "a Paddle job has the roles Master, PS, Worker and Evaluator; write PS for what was a Master with parameters in a PaddleJob"},
	{
		"a back-off above its maximum", `spec: {recovery: {backoffSeconds: 400}}`,
		"recovery.backoffSeconds must not be above recovery.maxBackoffSeconds",
	},
	{"an unknown restart policy", `spec: {replicaSpecs: {Worker: {restartPolicy: Sometimes}}}`, `supported values: "Never", "OnFailure", "Always", "ExitCode"`},
	{
		"a port that is none", `spec: {replicaSpecs: {Worker: {template: {spec: {containers: [{name: main, image: busybox, livenessProbe: {httpGet: {port: 99999999999}}}]}}}}}`,
		`spec.replicaSpecs.Worker.template.spec.containers[0].livenessProbe.httpGet.port in body should be less than or equal to 65535`,
	},
	{
		"a port of 0", `spec: {replicaSpecs: {Worker: {template: {spec: {containers: [{name: main, image: busybox, livenessProbe: {tcpSocket: {port: 0}}}]}}}}}`,
		`spec.replicaSpecs.Worker.template.spec.containers[0].livenessProbe.tcpSocket.port in body should be greater than or equal to 1`,
	},
	{
		"a port with a name", `spec: {replicaSpecs: {Worker: {template: {spec: {containers: [{name: main, image: busybox, livenessProbe: {httpGet: {port: http}}}]}}}}}`,
		``,
	},
	{
		"a quantity with a fraction in its exponent", `spec: {replicaSpecs: {Worker: {template: {spec: {containers: [{name: main, image: busybox, resources: {limits: {cpu: "1E1.5"}}}]}}}}}`,
		`spec.replicaSpecs.Worker.template.spec.containers[0].resources.limits.cpu: Invalid value: "1E1.5": spec.replicaSpecs.Worker.template.spec.containers[0].resources.limits.cpu in body should match`,
	},
	{
		"a quantity with a giant exponent", `spec: {replicaSpecs: {Worker: {template: {spec: {containers: [{name: main, image: busybox}], volumes: [{name: v, emptyDir: {sizeLimit: "1e99999999999999999999"}}]}}}}}`,
		`spec.replicaSpecs.Worker.template.spec.volumes[0].emptyDir.sizeLimit in body should match`,
	},
	{
		"a quantity of 65 digits", `spec: {replicaSpecs: {Worker: {template: {spec: {containers: [{name: main, image: busybox, resources: {limits: {cpu: "` + strings.Repeat("1", 65) + `"}}}]}}}}}`,
		`spec.replicaSpecs.Worker.template.spec.containers[0].resources.limits.cpu: Too long: may not be more than 64 bytes`,
	},
	{
		"quantities that people write", `spec: {replicaSpecs: {Worker: {template: {spec: {containers: [{name: main, image: busybox, resources: {limits: {cpu: 0.5e1, memory: 1.5Gi, nvidia.com/gpu: 8}, requests: {cpu: 500m, memory: "1e9"}}}]}}}}}`,
		``,
	},
	{
		"a priority beyond 32 bits", `spec: {replicaSpecs: {Worker: {template: {spec: {priority: 3000000000, containers: [{name: main, image: busybox}]}}}}}`,
		`spec.replicaSpecs.Worker.template.spec.priority in body should be less than or equal to 2147483647`,
	},
	{
		"33 containers", `spec: {replicaSpecs: {Worker: {template: {spec: {containers: [` + strings.Repeat("{name: main, image: busybox},", 33) + `]}}}}}`,
		`spec.replicaSpecs.Worker.template.spec.containers: Too many: 33: must have at most 32 items`,
	},
	{
		"containers for debugging", `spec: {replicaSpecs: {Worker: {template: {spec: {containers: [{name: main, image: busybox}], ephemeralContainers: [{name: debug, image: busybox}]}}}}}`,
		`unknown field "spec.replicaSpecs.Worker.template.spec.ephemeralContainers"`,
	},
	{"an unknown field", `spec: {replicas: 3}`, `unknown field "spec.replicas"`},
	{"an unknown field of a pod", `spec: {replicaSpecs: {Worker: {template: {spec: {contaners: []}}}}}`, `unknown field "spec.replicaSpecs.Worker.template.spec.contaners"`},
	{
		"a pod of another namespace", `spec: {replicaSpecs: {Worker: {template: {metadata: {namespace: kube-system}}}}}`,
		`unknown field "spec.replicaSpecs.Worker.template.metadata.namespace"`,
	},
}

func TestABadJobIsRefusedWithASentenceThatSaysWhatToWrite(t *testing.T) {
	for _, c := range newJobs {
		t.Run(c.name, func(t *testing.T) {
			err := admin.Create(t.Context(), job(t, "default", c.change), client.DryRunAll)
			expectRefusal(t, err, c.refusal)
		})
	}
}

func TestCommonMistakesAreRefused(t *testing.T) {
	all, err := mistakes.All()
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		manifest, err := all[i].Manifest()
		if err != nil {
			t.Fatal(err)
		}
		bad := &unstructured.Unstructured{Object: parse(t, string(manifest))}
		bad.SetNamespace("default")
		t.Run(all[i].Name, func(t *testing.T) {
			expectRefusal(t, admin.Create(t.Context(), bad, client.DryRunAll, client.FieldValidation("Strict")), all[i].Server)
		})
	}
}

func TestEveryExampleIsAccepted(t *testing.T) {
	alone, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(alone) == 0 {
		t.Fatalf("no examples found: %v", err)
	}
	withPrograms, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil || len(withPrograms) == 0 {
		t.Fatalf("no examples with programs found: %v", err)
	}
	for _, file := range slices.Concat(alone, withPrograms) {
		t.Run(strings.TrimPrefix(strings.TrimSuffix(file, ".yaml"), "../../examples/"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(text), "# ") {
				t.Error("the example does not say in a comment what it shows")
			}
			for _, document := range strings.Split(string(text), "\n---\n") {
				example := &unstructured.Unstructured{Object: parse(t, document)}
				example.SetNamespace("default")
				expectRefusal(t, admin.Create(t.Context(), example, client.DryRunAll), "")
			}
		})
	}
}
