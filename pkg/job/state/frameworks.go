package state

import "github.com/trainingjob/operator/apis/training/v1alpha1"

// Traits are what decisions and pods need of a framework. What its replicas read is in pkg/job/framework.
type Traits struct {
	// Name is the framework as spec.framework has it.
	Name v1alpha1.Framework
	// Roles are the roles of its jobs; nil for any. The rules of the CRD accept the same ones.
	Roles []v1alpha1.Role
	// LockStep is when its ranks run in lock-step, so that none can continue without another.
	LockStep LockStep
	// Port is where its replicas listen by default, and Meet whether that is at the leader alone.
	Port Port
	Meet bool
	// FindLeader is when its ranks look up their leader in DNS, and none of the others.
	FindLeader FindLeader
}

// LockStep is when ranks run in lock-step.
type LockStep int

// By the restartScope of the ranks alone; also without parameter servers; always.
const (
	ByScope LockStep = iota
	WithoutServers
	Always
)

// FindLeader is when ranks look up their leader alone.
type FindLeader int

// Never, so that all pods have names; unless the job is elastic; always.
const (
	FindAll FindLeader = iota
	UnlessElastic
	OnlyLeader
)

// Port is the name of the container port in manifests made for Kubeflow's operator, and the port without one.
type Port struct {
	Name    string
	Default int32
}

// frameworks are the traits of each framework. The agents of an elastic PyTorch job exchange host names, and each of them may become the leader.
// The workers of TensorFlow and Paddle train on without each other as long as parameter servers have the variables.
var frameworks = []Traits{
	{Name: v1alpha1.TensorFlow, Roles: roles(v1alpha1.Chief, v1alpha1.PS), LockStep: WithoutServers, Port: Port{"tfjob-port", 2222}},
	{Name: v1alpha1.PyTorch, Roles: roles(v1alpha1.Master), LockStep: Always, Port: Port{"pytorchjob-port", 29500}, Meet: true, FindLeader: UnlessElastic},
	{Name: v1alpha1.JAX, Roles: roles(), LockStep: Always, Port: Port{"jaxjob-port", 1234}, Meet: true, FindLeader: OnlyLeader},
	{Name: v1alpha1.MPI, Roles: []v1alpha1.Role{v1alpha1.Launcher, v1alpha1.Worker}, LockStep: Always},
	{Name: v1alpha1.XGBoost, Roles: roles(v1alpha1.Master), LockStep: Always, Port: Port{"xgboostjob-port", 9999}, Meet: true},
	{Name: v1alpha1.LightGBM, Roles: roles(v1alpha1.Master), LockStep: Always, Port: Port{"xgboostjob-port", 12400}},
	{Name: v1alpha1.Paddle, Roles: roles(v1alpha1.Master, v1alpha1.PS), LockStep: WithoutServers, Port: Port{"master", 36543}},
	{Name: v1alpha1.Custom},
}

// roles returns the given roles, with workers and evaluators.
func roles(own ...v1alpha1.Role) []v1alpha1.Role {
	return append(own, v1alpha1.Worker, v1alpha1.Evaluator)
}

// TraitsOf returns what is known of the framework; of an unknown one as much as of Custom.
func TraitsOf(framework v1alpha1.Framework) Traits {
	for i := range frameworks {
		if frameworks[i].Name == framework {
			return frameworks[i]
		}
	}
	return Traits{Name: v1alpha1.Custom}
}

// Frameworks returns the names of all frameworks.
func Frameworks() []string {
	var names []string
	for i := range frameworks {
		names = append(names, string(frameworks[i].Name))
	}
	return names
}
