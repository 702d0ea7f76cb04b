package convert

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// mpiByKubectl converts what only an MPIJob of Training Operator has: kubectl reached the workers, which slept.
func (c *conversion) mpiByKubectl(spec *fields) {
	outer := read[v1alpha1.CleanPodPolicy](spec, "cleanPodPolicy")
	if outer != nil {
		c.outerCleanPodPolicy(spec.at("cleanPodPolicy"), *outer)
	}
	if container := read[string](spec, "mainContainer"); container != nil && *container != "" {
		c.note(Changed, spec.at("mainContainer"), *container,
			"named the container that runs the ranks: it is the one that runs sshd, the first of the Worker unless another one's command does")
	}
	c.slots(spec)
	if workers, found := c.job.Spec.ReplicaSpecs[worker]; found {
		own := &workers.Template.Spec.Containers[0]
		base := "spec.mpiReplicaSpecs." + c.sources[worker] + ".template.spec.containers[0]"
		c.note(Changed, base+".image", own.Image, "mpirun uses ssh instead of kubectl: this image needs /usr/sbin/sshd, the launcher's image ssh, and both the same paths")
		if len(own.Command) > 0 {
			c.workerCommand(base, &workers)
		}
	}
	c.launcherRanks()
	c.withoutWorkers()
}

// outerCleanPodPolicy converts the older of the two fields, which counts if the other is not set.
func (c *conversion) outerCleanPodPolicy(outer string, policy v1alpha1.CleanPodPolicy) {
	inner := "spec.runPolicy.cleanPodPolicy"
	for i, n := range c.notes {
		if n.Path == inner && n.Effect == Added { // the default was written
			c.notes = append(c.notes[:i], c.notes[i+1:]...)
			c.cleanPodPolicy(outer, &policy)
			return
		}
	}
	c.note(Dropped, outer, policy, "%s is set too, and counts", inner)
}

// mpiBySSH converts what only an MPIJob of MPI Operator has.
func (c *conversion) mpiBySSH(spec *fields) {
	c.slots(spec)
	if given := read[string](spec, "sshAuthMountPath"); given != nil {
		c.note(Dropped, spec.at("sshAuthMountPath"), *given, "key and configuration are in /etc/mpi/ssh, where mpirun finds them; a command that calls ssh itself takes -F /etc/mpi/ssh/config")
	}
	if given := read[string](spec, "mpiImplementation"); given != nil {
		c.note(Dropped, spec.at("mpiImplementation"), *given, "is not needed: Open MPI, Intel MPI and MPICH each find their settings")
	}
	if given := read[string](spec, "launcherCreationPolicy"); given != nil {
		c.note(Dropped, spec.at("launcherCreationPolicy"), *given, "is not needed: all start together, and ssh waits until a worker answers")
	}
	if asWorker := read[bool](spec, "runLauncherAsWorker"); asWorker != nil && *asWorker {
		c.note(Dropped, spec.at("runLauncherAsWorker"), true, "a launcher runs mpirun only: add 1 to Worker.replicas, and let the launcher ask for no GPUs")
	}
	if workers, found := c.job.Spec.ReplicaSpecs[worker]; found && len(workers.Template.Spec.Containers[0].Command) > 0 {
		c.workerCommand("spec.mpiReplicaSpecs."+c.sources[worker]+".template.spec.containers[0]", &workers)
	}
	c.withoutWorkers()
}

// slots converts the ranks per worker, whose default is 1. A TrainingJob's is the number of GPUs.
func (c *conversion) slots(spec *fields) {
	c.job.Spec.MPI = &v1alpha1.MPISpec{}
	slots := int64(1)
	if given := read[int64](spec, "slotsPerWorker"); given != nil {
		slots = *given
	} else {
		c.note(Added, spec.at("slotsPerWorker"), nil, "the default of MPIJob is 1, the default of TrainingJob the number of a worker's GPUs: remove mpi.slotsPerWorker to use it")
	}
	c.job.Spec.MPI.SlotsPerWorker = c.within(spec.at("slotsPerWorker"), slots, 1, mostSlots)
}

// workerCommand takes a mere sshd or sleep out of the workers, as they run sshd by themselves, and notes every other command.
func (c *conversion) workerCommand(base string, workers *v1alpha1.ReplicaSpec) {
	own := &workers.Template.Spec.Containers[0]
	command := slices.Concat(own.Command, own.Args)
	if program := path.Base(own.Command[0]); program == "sshd" || program == "sleep" {
		own.Command, own.Args = nil, nil
		c.note(Dropped, base+".command", command, "a worker without a command runs sshd with the job's own configuration and key, which is what ranks need")
		return
	}
	c.note(Changed, base+".command", command, "must end in: exec /usr/sbin/sshd -De -f /etc/mpi/ssh/sshd_config")
}

// launcherRanks notes a launcher that was one of the hosts because it requests GPUs.
func (c *conversion) launcherRanks() {
	template := c.job.Spec.ReplicaSpecs[launcher].Template
	for i, container := range template.Spec.Containers {
		for _, name := range slices.Sorted(maps.Keys(container.Resources.Limits)) {
			if strings.Contains(string(name), "gpu") {
				c.note(Changed, fmt.Sprintf("spec.mpiReplicaSpecs.%s.template.spec.containers[%d].resources.limits", c.sources[launcher], i), name,
					"made the launcher one of the hosts: it runs mpirun only now; add 1 to Worker.replicas, and let the launcher ask for no GPUs")
				return
			}
		}
	}
}

// withoutWorkers makes a launcher that has no workers a job of a single program.
func (c *conversion) withoutWorkers() {
	if !c.has(launcher) {
		c.fail("spec.mpiReplicaSpecs.Launcher", "is missing: it runs mpirun")
		return
	}
	if c.job.Spec.Replicas(worker) > 0 {
		return
	}
	delete(c.job.Spec.ReplicaSpecs, worker)
	c.job.Spec.Framework, c.job.Spec.MPI = v1alpha1.Custom, nil
	c.note(Changed, "spec.mpiReplicaSpecs.Worker", nil, "has no replicas: the launcher becomes a job of framework Custom, whose mpirun starts its ranks in its own pod")
}
