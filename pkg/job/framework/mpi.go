package framework

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
)

const (
	mpiFolder   = "/etc/mpi"
	hostFile    = mpiFolder + "/hostfile"
	machineFile = mpiFolder + "/machinefile"
	sshOptions  = "-F " + mpiFolder + "/ssh/config"
	mpiVolume   = "trainingjob-mpi"
)

// sshd is what a worker without command and arguments runs, on port 2222: any user may listen there, and with hostNetwork it does not meet
// the node's. Its sessions have PATH and LD_LIBRARY_PATH of the container, and TRAININGJOB_ATTEMPT and TRAININGJOB_LIFE of the launcher.
// sshd of root needs a folder that packages leave to systemd.
const sshd = `mkdir -p /run/sshd 2>/dev/null
exec /usr/sbin/sshd -D -e -f ` + mpiFolder + `/ssh/sshd_config -o "SetEnv=PATH=$PATH LD_LIBRARY_PATH=$LD_LIBRARY_PATH"`

// mpi gives the launcher of an MPI job the list of its workers, and the way to reach them.
//
// mpirun in the launcher starts a daemon on each worker by ssh, and the daemons start the ranks. Open MPI (4 and 5), MPICH and
// Intel MPI read from the launcher's variables what otherwise stands on the command line, so mpirun -np 8 prog is enough:
//
//	Open MPI 4    OMPI_MCA_orte_default_hostfile, OMPI_MCA_orte_keep_fqdn_hostnames, OMPI_MCA_plm_rsh_args
//	Open MPI 5    PRTE_MCA_prte_default_hostfile, PRTE_MCA_plm_ssh_args    (PRRTE, src/mca/plm/ssh)
//	both          OMPI_ALLOW_RUN_AS_ROOT, OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
//	MPICH         HYDRA_HOST_FILE, HYDRA_LAUNCHER_EXTRA_ARGS, HYDRA_IFACE  (src/pm/hydra)
//	Intel MPI     I_MPI_HYDRA_HOST_FILE, I_MPI_HYDRA_BOOTSTRAP, I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS, I_MPI_HYDRA_IFACE
//
// and from its files. The files of ssh are in the workers as well, because daemons may start further daemons. No implementation reads the
// list of the other: Open MPI takes no "host:2", MPICH no "slots=2".
//
//	/etc/mpi/hostfile       "<host> slots=<n>" per worker, for Open MPI (Horovod and DeepSpeed take it too)
//	/etc/mpi/machinefile    "<host>:<n>" per worker, for MPICH and Intel MPI
//	/etc/mpi/ssh            config, sshd_config, the key and who may use it: the Secret of build.SSHSecret
//
// Environment returns the launcher's variables of the package comment. Workers have none: what sshd starts does not inherit them.
//
//   - HYDRA_IFACE: Hydra's daemons call mpirun back by its host name, which has no dot and resolves in no other pod. With an interface it
//     passes its address. Kubernetes calls a pod's interface eth0; under hostNetwork users write the node's.
//   - HYDRA_LAUNCHER_EXTRA_ARGS, not HYDRA_LAUNCH_EXTRA_ARGS as in MPIJob v2: the code of MPICH 3.4 to 5.0 reads only the former.
//   - PRTE_MCA_* beside OMPI_MCA_*: Open MPI 5 translates the latter, but cuts values at their last "=".
//   - OMPI_ALLOW_RUN_AS_ROOT: root in a container is not the node's, so Open MPI need not refuse it.
func mpi(job *v1alpha1.TrainingJob) func(state.Slot) []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: "OMPI_MCA_orte_default_hostfile", Value: hostFile},
		{Name: "OMPI_MCA_orte_keep_fqdn_hostnames", Value: "true"},
		{Name: "PRTE_MCA_prte_default_hostfile", Value: hostFile},
		{Name: "OMPI_ALLOW_RUN_AS_ROOT", Value: "1"},
		{Name: "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", Value: "1"},
		{Name: "HYDRA_HOST_FILE", Value: machineFile},
		{Name: "HYDRA_IFACE", Value: "eth0"},
		{Name: "I_MPI_HYDRA_HOST_FILE", Value: machineFile},
		{Name: "I_MPI_HYDRA_IFACE", Value: "eth0"},
	}
	if job.Spec.LaunchesBySSH() {
		env = append(env,
			corev1.EnvVar{Name: "OMPI_MCA_plm_rsh_args", Value: sshOptions},
			corev1.EnvVar{Name: "PRTE_MCA_plm_ssh_args", Value: sshOptions},
			corev1.EnvVar{Name: "HYDRA_LAUNCHER_EXTRA_ARGS", Value: sshOptions},
			corev1.EnvVar{Name: "I_MPI_HYDRA_BOOTSTRAP", Value: "ssh"},
			corev1.EnvVar{Name: "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", Value: sshOptions})
	}
	return func(slot state.Slot) []corev1.EnvVar {
		if slot.Role != v1alpha1.Launcher {
			return nil
		}
		return slices.Clone(env)
	}
}

// completeMPI gives the pod of a slot its files, and sshd to a worker that has nothing to run.
func completeMPI(job *v1alpha1.TrainingJob) func(state.Slot, *corev1.Pod) {
	hosts, machines := hostLists(job)
	return func(slot state.Slot, pod *corev1.Pod) {
		var files []corev1.VolumeProjection
		if slot.Role == v1alpha1.Launcher {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1alpha1.AnnotationHostFile, hosts)
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1alpha1.AnnotationMachineFile, machines)
			files = append(files, hostFiles())
		}
		if job.Spec.LaunchesBySSH() {
			files = append(files, build.SSHFiles(job, "ssh/", keyMode(&pod.Spec)))
			if state.RunsSSHD(&job.Spec, slot.Role) {
				state.MainOf(pod).Command = []string{"sh", "-c", sshd}
			}
		}
		if len(files) > 0 {
			mountFiles(&pod.Spec, files)
		}
	}
}

// hostLists returns the two lists of hosts.
func hostLists(job *v1alpha1.TrainingJob) (hosts, machines string) {
	var byOpenMPI, byHydra strings.Builder
	slots := slotsPerWorker(job)
	for i := range int(job.Spec.Replicas(v1alpha1.Worker)) {
		host := state.HostName(job.Name, state.Slot{Role: v1alpha1.Worker, Index: i}) + "." + job.Name
		fmt.Fprintf(&byOpenMPI, "%s slots=%d\n", host, slots)
		fmt.Fprintf(&byHydra, "%s:%d\n", host, slots)
	}
	return byOpenMPI.String(), byHydra.String()
}

func slotsPerWorker(job *v1alpha1.TrainingJob) int64 {
	if job.Spec.MPI != nil && job.Spec.MPI.SlotsPerWorker != nil {
		return int64(*job.Spec.MPI.SlotsPerWorker)
	}
	gpus, uncounted := build.Accelerators(job, v1alpha1.Worker)
	return max(1, gpus, uncounted)
}

// hostFiles returns the files that show the annotations.
func hostFiles() corev1.VolumeProjection {
	file := func(path, annotation string) corev1.DownwardAPIVolumeFile {
		return corev1.DownwardAPIVolumeFile{Path: path, Mode: ptr.To[int32](0o444),
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + annotation + "']"}}
	}
	return corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
		file("hostfile", v1alpha1.AnnotationHostFile), file("machinefile", v1alpha1.AnnotationMachineFile)}}}
}

// mountFiles shows the files to all containers.
func mountFiles(spec *corev1.PodSpec, files []corev1.VolumeProjection) {
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: mpiVolume, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: files}}})
	for i := range spec.Containers {
		spec.Containers[i].VolumeMounts = append(spec.Containers[i].VolumeMounts, corev1.VolumeMount{Name: mpiVolume, MountPath: mpiFolder, ReadOnly: true})
	}
}

// keyMode returns the mode of the key's files. It is 0600 if a container may run as root, as far as the template shows: ssh refuses a key
// that belongs to its own user and that others may read. Otherwise it is 0444: the files belong to root, and no user outside the pod sees
// them.
func keyMode(spec *corev1.PodSpec) int32 {
	pod := ptr.Deref(spec.SecurityContext, corev1.PodSecurityContext{})
	for _, c := range spec.Containers {
		own := ptr.Deref(c.SecurityContext, corev1.SecurityContext{})
		user, other := cmp.Or(own.RunAsUser, pod.RunAsUser), cmp.Or(own.RunAsNonRoot, pod.RunAsNonRoot)
		if ptr.Deref(user, 0) == 0 && !ptr.Deref(other, false) {
			return 0o600
		}
	}
	return 0o444
}
