//go:build e2e

package e2e

import (
	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

type (
	jobOption     = builder.JobOption
	replicaOption = builder.ReplicaOption
)

// What a spec says of a job as other tests do has short names here.
var (
	workers        = builder.Workers
	ps             = builder.PS
	allWorkers     = builder.AllWorkers()
	suspended      = builder.Suspended()
	cleaning       = builder.Clean
	timeToLive     = builder.TTL
	activeDeadline = builder.Deadline
	maxRestarts    = builder.MaxRestarts
	maxOOMRestarts = builder.MaxOOMRestarts
	recovering     = builder.Recovery
	reporting      = builder.Progress
	elastic        = builder.Elastic
	restarting     = builder.Policy
	scope          = builder.Scope
	doing          = builder.Doing
	setting        = builder.Env
	limited        = builder.Limit
)

func tensorflow(name string, options ...jobOption) *v1alpha1.TrainingJob {
	return job(name, v1alpha1.TensorFlow, options...)
}

func pytorch(name string, options ...jobOption) *v1alpha1.TrainingJob {
	return job(name, v1alpha1.PyTorch, options...)
}

func custom(name string, options ...jobOption) *v1alpha1.TrainingJob {
	return job(name, v1alpha1.Custom, options...)
}

// job returns a job that restarts without back-off and is cleaned up as soon as it has succeeded, unless an option says otherwise.
func job(name string, framework v1alpha1.Framework, options ...jobOption) *v1alpha1.TrainingJob {
	j := builder.Submitted(name, framework, append([]jobOption{builder.BackOff(0, 1), builder.FinishGrace(0)}, options...)...)
	j.Namespace = here.namespace
	return j
}

func chief(options ...replicaOption) jobOption { return builder.Leader(v1alpha1.Chief, options...) }

func master(options ...replicaOption) jobOption { return builder.Leader(v1alpha1.Master, options...) }

func launcher(options ...replicaOption) jobOption {
	return builder.Leader(v1alpha1.Launcher, options...)
}

func evaluator(options ...replicaOption) jobOption { return builder.Evaluators(1, options...) }

func managedBy(controller string) jobOption {
	return func(j *v1alpha1.TrainingJob) { j.Spec.ManagedBy = controller }
}
