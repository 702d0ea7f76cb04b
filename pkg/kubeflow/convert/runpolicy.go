package convert

import (
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// The bounds of a TrainingJob's fields; its schema holds them too.
const (
	longestSeconds  = 315360000
	longestWindow   = 31536000
	shortestWindow  = 60 // in which no job restarts as often as mostOOMRestarts: such a limit is none
	mostRestarts    = 1000
	mostOOMRestarts = 100
	mostReplicas    = 10000
	mostSlots       = 1024
	jobBackoffLimit = 6 // of batch/v1 Jobs, which MPI Operator 0.8 makes of its launchers
)

// The controllers that run the jobs of the source, in spec.runPolicy.managedBy.
var kubeflowControllers = []string{"", "kubeflow.org/training-operator", "kubeflow.org/mpi-operator"}

// runPolicy converts what all kinds have in common.
func (c *conversion) runPolicy(run *fields) {
	c.cleanPodPolicy(run.at("cleanPodPolicy"), read[v1alpha1.CleanPodPolicy](run, "cleanPodPolicy"))
	policy := &c.job.Spec.RunPolicy
	if ttl := read[int64](run, "ttlSecondsAfterFinished"); ttl != nil {
		policy.TTLSecondsAfterFinished = c.within(run.at("ttlSecondsAfterFinished"), *ttl, 0, longestSeconds)
	}
	if deadline := read[int64](run, "activeDeadlineSeconds"); deadline != nil {
		policy.ActiveDeadlineSeconds = c.within(run.at("activeDeadlineSeconds"), *deadline, 1, longestSeconds)
		c.note(Changed, run.at("activeDeadlineSeconds"), *deadline,
			"counts from the first start, without suspended time; before, it started again with each resumption")
	}
	c.backoffLimit(run)
	if suspend := read[bool](run, "suspend"); suspend != nil {
		c.job.Spec.Suspend = suspend
	}
	c.managedBy(run)
	c.scheduling(run.object("schedulingPolicy"))
}

// cleanPodPolicy converts the clean-up, whose default is None.
func (c *conversion) cleanPodPolicy(path string, given *v1alpha1.CleanPodPolicy) {
	if given == nil || *given == "" {
		given = ptr.To(v1alpha1.CleanNone)
		c.note(Added, path, nil, "the default of %s is None, the default of TrainingJob Running: write Running unless running pods, such as parameter servers, must continue", c.kind.name)
	}
	switch *given {
	case v1alpha1.CleanNone, v1alpha1.CleanRunning, v1alpha1.CleanAll:
		c.job.Spec.RunPolicy.CleanPodPolicy = *given
	default:
		c.fail(path, "is %s: write None, Running or All", *given)
	}
}

// backoffLimit converts the limit of restarts into a budget. It counted for as long as the job lived.
func (c *conversion) backoffLimit(run *fields) {
	path, limit, recovery := run.at("backoffLimit"), read[int64](run, "backoffLimit"), &c.job.Spec.Recovery
	switch {
	case limit != nil && *limit < 0:
		c.fail(path, "is %d: write 0 or more", *limit)
		return
	case limit == nil && c.kind.version == "v2beta1":
		limit = ptr.To(int64(jobBackoffLimit))
		c.note(Added, path, nil, "is %d for a launcher: written as recovery.maxRestarts", jobBackoffLimit)
	case limit == nil && c.served:
		recovery.MaxRestarts, recovery.WindowSeconds = ptr.To[int32](mostRestarts), ptr.To[int32](shortestWindow)
		recovery.MaxOOMRestarts = ptr.To[int32](mostOOMRestarts)
		return
	case limit == nil:
		if c.restarts() {
			c.note(Changed, path, nil, "is not set, and restarts had no end: a TrainingJob fails after 10 within a day that are its own fault; write recovery.maxRestarts")
		}
		return
	default:
		c.note(Changed, path, *limit, "becomes recovery.maxRestarts within a year (the longest recovery.windowSeconds): pods that are drained, evicted or "+
			"deleted are not charged, those that run out of memory have recovery.maxOOMRestarts beside it")
	}
	recovery.MaxRestarts = c.within(path, *limit, 0, mostRestarts)
	recovery.WindowSeconds = ptr.To[int32](longestWindow)
	if *limit < int64(v1alpha1.DefaultMaxOOMRestarts) {
		recovery.MaxOOMRestarts = ptr.To(int32(*limit))
	}
}

// restarts reports whether any role is restarted.
func (c *conversion) restarts() bool {
	for _, spec := range c.job.Spec.ReplicaSpecs {
		if spec.RestartPolicy != v1alpha1.RestartNever {
			return true
		}
	}
	return false
}

// managedBy converts who runs the job.
func (c *conversion) managedBy(run *fields) {
	given := ptr.Deref(read[string](run, "managedBy"), "")
	for _, own := range kubeflowControllers {
		if given == own {
			if given != "" {
				c.note(Dropped, run.at("managedBy"), given, "named the old operator: the operator of TrainingJobs runs jobs without this field")
			}
			return
		}
	}
	c.job.Spec.ManagedBy = given
	c.note(Changed, run.at("managedBy"), given, "is kept, so that controller runs the job, MultiKueue in another cluster: leave it out for a job that is to run here")
}

// schedulerGangs are the gang schedulers by the name of their scheduler.
var schedulerGangs = map[string]v1alpha1.Gang{
	"volcano": v1alpha1.GangVolcano, "scheduler-plugins-scheduler": v1alpha1.GangCoscheduling,
}

// scheduling converts the gang. A flag of the old operator selected its scheduler, and only its traces show which. For a served job the
// operator's own flag --gang selects it.
func (c *conversion) scheduling(f *fields) {
	given := v1alpha1.Scheduling{Queue: ptr.Deref(read[string](f, "queue"), ""), PriorityClassName: ptr.Deref(read[string](f, "priorityClass"), "")}
	if available := read[int64](f, "minAvailable"); available != nil {
		given.MinAvailable = c.within(f.at("minAvailable"), *available, 1, mostReplicas)
		c.note(Changed, f.at("minAvailable"), *available, "counts if the job has a gang: write scheduling.gang, or start the operator with --gang")
	}
	c.drop(f, "minResources", "a gang's resources are the sum of its pods' requests")
	c.drop(f, "scheduleTimeoutSeconds", "was how long the scheduler tried before it tried again; scheduling.timeoutSeconds fails a job that has waited so long")
	for _, role := range c.job.Spec.Roles() {
		if gang, known := schedulerGangs[c.job.Spec.ReplicaSpecs[role].Template.Spec.SchedulerName]; known && !c.served {
			given.Gang = gang
		}
	}
	switch {
	case given.Queue == "":
	case c.served:
		c.note(Changed, f.at("queue"), given.Queue, "is one of Volcano's: it counts if the operator runs with --gang=Volcano")
	default:
		if given.Gang == "" {
			given.Gang = v1alpha1.GangVolcano
		}
		c.note(Changed, f.at("queue"), given.Queue, "is one of Volcano's, so scheduling.gang is Volcano: leave both out if the cluster has none")
	}
	if given.PriorityClassName != "" {
		c.note(Changed, f.at("priorityClass"), given.PriorityClassName, "also applies to pods whose template names none")
	}
	if given != (v1alpha1.Scheduling{}) {
		c.job.Spec.Scheduling = &given
	}
	c.leftOver(f)
}
