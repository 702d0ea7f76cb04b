package convert

import "github.com/trainingjob/operator/apis/training/v1alpha1"

// kind is one kind of job of Kubeflow's, with its defaults.
type kind struct {
	name, version string
	framework     v1alpha1.Framework
	// replicaSpecs is the field that has the roles.
	replicaSpecs string
	// roles by their name in lower case, as the operator takes them in any.
	roles map[string]v1alpha1.Role
	// served are the roles that are others if the TrainingJob serves the job.
	served map[string]v1alpha1.Role
	// container is the name of the container whose exit code counts; the first one if none has it.
	container string
	// restarts is the default of restartPolicy, by role.
	restarts map[v1alpha1.Role]v1alpha1.RestartPolicy
	// replicas is the default number of replicas where it is not 1.
	replicas map[v1alpha1.Role]int32
	// port is the default of the leader's port if a TrainingJob has another one.
	port *port
	// variables are the variables that the old operator set even where the template set them. In a TrainingJob the template wins.
	variables []string
	// masterVariables are more of them, if the job has a master, and joinedVariables, if it has more than one replica.
	masterVariables, joinedVariables []string
	// rest converts what only this kind has.
	rest func(c *conversion, spec *fields)
}

type port struct {
	name   string
	number int32
}

// Short names for the table below.
const (
	chief, master, launcher = v1alpha1.Chief, v1alpha1.Master, v1alpha1.Launcher
	worker, ps, evaluator   = v1alpha1.Worker, v1alpha1.PS, v1alpha1.Evaluator
	never, onFailure        = v1alpha1.RestartNever, v1alpha1.RestartOnFailure
)

// kinds are Kubeflow's. Source: pkg/apis/kubeflow.org/v1 of Training Operator 1.9 (constants, defaults and validation), and
// pkg/apis/kubeflow/v2beta1 of MPI Operator 0.8.
var kinds = []kind{
	{
		name: "TFJob", version: "v1", framework: v1alpha1.TensorFlow, replicaSpecs: "tfReplicaSpecs", container: "tensorflow",
		roles:           map[string]v1alpha1.Role{"chief": chief, "master": chief, "ps": ps, "worker": worker, "evaluator": evaluator},
		restarts:        map[v1alpha1.Role]v1alpha1.RestartPolicy{chief: never, ps: never, worker: never, evaluator: never},
		joinedVariables: []string{"TF_CONFIG"},
		rest:            (*conversion).tensorflow,
	},
	{
		name: "PyTorchJob", version: "v1", framework: v1alpha1.PyTorch, replicaSpecs: "pytorchReplicaSpecs", container: "pytorch",
		roles:           map[string]v1alpha1.Role{"master": master, "worker": worker},
		restarts:        map[v1alpha1.Role]v1alpha1.RestartPolicy{master: onFailure, worker: onFailure},
		port:            &port{"pytorchjob-port", 23456},
		variables:       []string{"PYTHONUNBUFFERED", "PET_NNODES", "PET_NPROC_PER_NODE"},
		masterVariables: []string{"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT", "PET_NODE_RANK"},
		rest:            (*conversion).pytorch,
	},
	{
		name: "JAXJob", version: "v1", framework: v1alpha1.JAX, replicaSpecs: "jaxReplicaSpecs", container: "jax",
		roles:     map[string]v1alpha1.Role{"worker": worker},
		restarts:  map[v1alpha1.Role]v1alpha1.RestartPolicy{worker: never},
		port:      &port{"jaxjob-port", 6666},
		variables: []string{"PYTHONUNBUFFERED", "COORDINATOR_ADDRESS", "COORDINATOR_PORT", "NUM_PROCESSES", "PROCESS_ID"},
		rest:      (*conversion).jax,
	},
	{
		name: "XGBoostJob", version: "v1", framework: v1alpha1.XGBoost, replicaSpecs: "xgbReplicaSpecs", container: "xgboost",
		roles:           map[string]v1alpha1.Role{"master": master, "worker": worker},
		restarts:        map[v1alpha1.Role]v1alpha1.RestartPolicy{master: never, worker: never},
		variables:       []string{"PYTHONUNBUFFERED", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK"},
		joinedVariables: []string{"WORKER_ADDRS", "WORKER_PORT"},
		rest:            (*conversion).boosting,
	},
	{
		name: "PaddleJob", version: "v1", framework: v1alpha1.Paddle, replicaSpecs: "paddleReplicaSpecs", container: "paddle",
		roles:     map[string]v1alpha1.Role{"master": ps, "worker": worker},
		served:    map[string]v1alpha1.Role{"master": master},
		restarts:  map[v1alpha1.Role]v1alpha1.RestartPolicy{ps: onFailure, master: onFailure, worker: onFailure},
		variables: []string{"PYTHONUNBUFFERED", "PADDLE_MASTER", "PADDLE_NNODES", "PADDLE_JOB_ID"},
		rest:      (*conversion).paddle,
	},
	{
		name: "MPIJob", version: "v1", framework: v1alpha1.MPI, replicaSpecs: "mpiReplicaSpecs",
		roles:     map[string]v1alpha1.Role{"launcher": launcher, "worker": worker},
		restarts:  map[v1alpha1.Role]v1alpha1.RestartPolicy{launcher: never, worker: never},
		replicas:  map[v1alpha1.Role]int32{worker: 0},
		variables: []string{"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_agent"},
		rest:      (*conversion).mpiByKubectl,
	},
	{
		name: "MPIJob", version: "v2beta1", framework: v1alpha1.MPI, replicaSpecs: "mpiReplicaSpecs",
		roles:    map[string]v1alpha1.Role{"launcher": launcher, "worker": worker},
		restarts: map[v1alpha1.Role]v1alpha1.RestartPolicy{launcher: onFailure, worker: never},
		replicas: map[v1alpha1.Role]int32{worker: 0},
		variables: []string{
			"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_orte_keep_fqdn_hostnames", "HYDRA_HOST_FILE",
			"I_MPI_HYDRA_HOST_FILE",
		},
		rest: (*conversion).mpiBySSH,
	},
}
