package local

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/kubelet"
)

// Prepare checks that the job can run on this machine, before anything starts. It takes away from the job what only a cluster has, and
// returns a sentence for each. It returns an error with a correction for a job that cannot run.
func (o *Options) Prepare() (notes []string, err error) {
	if err := o.checkJob(); err != nil {
		return nil, err
	}
	gpus, err := o.checkGPUs()
	if err != nil {
		return nil, err
	}
	notes = append(o.dropClusterParts(), gpus...)
	if o.Job.Spec.Framework == v1alpha1.XGBoost {
		notes = append(notes, "XGBoost's tracker must listen where its peers look for it: write RabitTracker(host_ip=\"0.0.0.0\", ...), if the program does not.")
	}
	for _, role := range o.Job.Spec.Roles() {
		replicas := o.Job.Spec.ReplicaSpecs[role]
		more, err := o.checkPod(&replicas.Template.Spec)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", role, err)
		}
		for _, note := range more {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	notes = append(notes, o.avoidPort()...)
	return notes, checkPorts(NewNames(o.Job).Ports())
}

// avoidPort has the job use another port if another program has the default port of the framework and no template names a port.
func (o *Options) avoidPort() (notes []string) {
	names := NewNames(o.Job)
	port := state.TraitsOf(o.Job.Spec.Framework).Port
	if port.Default == 0 || checkPorts(names.Ports()) == nil {
		return nil
	}
	var mains []*corev1.Container
	for _, role := range o.Job.Spec.Roles() {
		containers := o.Job.Spec.ReplicaSpecs[role].Template.Spec.Containers // the job's own
		for i := range containers {
			if slices.ContainsFunc(containers[i].Ports, func(p corev1.ContainerPort) bool { return p.Name == port.Name }) {
				return nil
			}
		}
		mains = append(mains, &containers[0])
	}
	const beyond, most = 100, 1000 // the ports of the attempts
	for at := port.Default + beyond; at < port.Default+most; at += int32(names.total) {
		for _, main := range mains {
			main.Ports = append(slices.DeleteFunc(main.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.Name }), corev1.ContainerPort{Name: port.Name, ContainerPort: at})
		}
		if checkPorts(NewNames(o.Job).Ports()) == nil {
			return []string{fmt.Sprintf("Another program has port %d of %s: this run uses port %d.", port.Default, o.Job.Spec.Framework, at)}
		}
	}
	return nil
}

func (o *Options) checkJob() error {
	spec := &o.Job.Spec
	switch {
	case !kubelet.Supported:
		return errors.New("local runs need Linux, where each rank can have an address of its own: macOS and Windows are not supported yet; run it in a Linux container or virtual machine")
	case spec.Framework == v1alpha1.MPI:
		return errors.New("an MPI job starts its ranks by ssh, which needs a cluster: run mpirun with slots on this machine instead")
	case spec.IsSuspended():
		return errors.New("the job is suspended: remove spec.suspend")
	case spec.IsManagedElsewhere():
		return fmt.Errorf("the job is run by %s: remove spec.managedBy", spec.ManagedBy)
	case o.Nodes < 1:
		return fmt.Errorf("--nodes %d: write a number from 1", o.Nodes)
	}
	for _, role := range spec.Roles() {
		if n := size(o.Job, role); n > mostReplicas {
			return fmt.Errorf("%d replicas of %s are too many for one machine: write at most %d", n, role, mostReplicas)
		}
	}
	return o.checkFaults()
}

func (o *Options) checkFaults() error {
	var replicas, nodes []string
	for _, role := range o.Job.Spec.Roles() {
		for i := range size(o.Job, role) {
			replicas = append(replicas, state.Slot{Role: role, Index: i}.String())
		}
	}
	for i := range o.Nodes {
		nodes = append(nodes, NodeName(i+1))
	}
	lost := map[string]bool{}
	for _, f := range o.Faults {
		if f.Node != "" {
			lost[f.Node] = true
		}
		switch {
		case f.Node != "" && !slices.Contains(nodes, f.Node):
			return fmt.Errorf("there is no node %s: write one of %s to %s", f.Node, nodes[0], nodes[len(nodes)-1])
		case f.Node == "" && !slices.Contains(replicas, f.Replica):
			return fmt.Errorf("the job has no replica %s: write one of %v", f.Replica, replicas)
		}
	}
	if 2*len(lost) > o.Nodes { // the operator would doubt the control plane, as it does in a cluster, and the job would wait
		return fmt.Errorf("--lose-node for %d of %d nodes: the operator believes no loss of most nodes: write --nodes %d or more", len(lost), o.Nodes, 2*len(lost))
	}
	return nil
}

// dropClusterParts takes away what needs other parts of a cluster.
func (o *Options) dropClusterParts() (notes []string) {
	spec := &o.Job.Spec
	if s := spec.Scheduling; s != nil && s.Gang != "" && s.Gang != v1alpha1.GangNone {
		spec.Scheduling = nil
		notes = append(notes, "spec.scheduling is left out: there is no gang scheduler.")
	}
	if queue := o.Job.Labels[v1alpha1.LabelQueue]; queue != "" {
		delete(o.Job.Labels, v1alpha1.LabelQueue)
		notes = append(notes, "The label of queue "+queue+" is left out: there is no Kueue.")
	}
	return notes
}

// checkGPUs returns an error if the replicas request more GPUs than this machine has, and a note if it has none.
func (o *Options) checkGPUs() (notes []string, err error) {
	all := 0
	for _, role := range o.Job.Spec.Roles() {
		spec := o.Job.Spec.ReplicaSpecs[role].Template.Spec
		all += kubelet.GPUs(&spec) * int(o.Job.Spec.Replicas(role))
	}
	switch {
	case all > 0 && len(o.Devices) == 0:
		return []string{fmt.Sprintf("The job requests %d GPUs, and this machine has none: its programs start without.", all)}, nil
	case all > len(o.Devices):
		return nil, fmt.Errorf("the replicas request %d GPUs together, and this machine has %d: lower nvidia.com/gpu or the number of replicas", all, len(o.Devices))
	}
	return nil, nil
}

// checkNames checks the names of a template that become names of files here: the API server refuses others only with the pod.
func checkNames(spec *corev1.PodSpec) error {
	var names []string
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		names = append(names, c.Name)
	}
	for i := range spec.Volumes {
		names = append(names, spec.Volumes[i].Name)
		if claim := spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			names = append(names, claim.ClaimName)
		}
	}
	for _, name := range names {
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			return fmt.Errorf("%q is no name of a container, volume or claim: write lower-case letters, digits, '-' and '.', with a letter or digit at both ends", name)
		}
	}
	return nil
}

// checkPod checks what a template needs of a machine.
func (o *Options) checkPod(spec *corev1.PodSpec) (notes []string, err error) {
	if err := checkNames(spec); err != nil {
		return nil, err
	}
	if spec.HostPID || spec.HostIPC {
		return nil, errors.New("hostPID and hostIPC need a node of a cluster: remove them")
	}
	for i := range spec.Volumes {
		if err := o.checkVolume(spec, &spec.Volumes[i]); err != nil {
			return nil, err
		}
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			more, err := o.checkContainer(spec, &containers[i])
			if err != nil {
				return nil, fmt.Errorf("container %s: %w", containers[i].Name, err)
			}
			notes = append(notes, more...)
		}
	}
	return notes, nil
}

// checkPorts returns an error about a port at which another program listens.
func checkPorts(ports []int) error {
	for _, port := range ports {
		connection, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
		if err == nil {
			connection.Close()
			return fmt.Errorf("another program listens at port %d, which the job needs: end it, or name another port in the container's ports, as docs/frameworks.md shows", port)
		}
	}
	return nil
}
