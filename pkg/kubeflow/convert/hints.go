package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// formerly are words in commands and variables that name what a TrainingJob does not have.
var formerly = []struct{ word, advice string }{
	{"/etc/mpi/discover_hosts.sh", "lists the hosts that run: an MPI job has a fixed number of workers, all in /etc/mpi/hostfile"},
	{"/etc/mpi/kubexec.sh", "starts ranks by kubectl: mpirun reaches the workers by ssh, without an agent"},
	{"/opt/kube/", "is where kubectl was: mpirun reaches the workers by ssh"},
	{"horovodrun", "calls ssh by itself, without the job's key: write mpirun instead"},
	{"K_MPI_JOB_ROLE", "is not set: look for TRAININGJOB_RANK, or write a command for each role"},
	{"PADDLE_SERVER_NUM", "is not set: count the servers in PADDLE_PSERVERS_IP_PORT_LIST"},
	{"PADDLE_TRAINER_NUM", "is not set: PADDLE_TRAINERS_NUM is the number of trainers"},
}

// hints notes what the commands and variables of the job say that is no longer so. In a served job all of it is so.
func (c *conversion) hints() {
	if c.served {
		return
	}
	for _, role := range c.job.Spec.Roles() {
		template := c.job.Spec.ReplicaSpecs[role].Template
		base := "spec." + c.kind.replicaSpecs + "." + c.sources[role] + ".template.spec."
		for i, own := range template.Spec.InitContainers {
			c.hint(fmt.Sprintf("%sinitContainers[%d]", base, i), &own)
		}
		for i, own := range template.Spec.Containers {
			c.hint(fmt.Sprintf("%scontainers[%d]", base, i), &own)
		}
	}
}

// hint notes hints from one container.
func (c *conversion) hint(path string, own *corev1.Container) {
	for i, v := range own.Env {
		if slices.Contains(c.variables(), v.Name) {
			c.note(Changed, fmt.Sprintf("%s.env[%d]", path, i), v.Name+"="+v.Value,
				"the old operator overwrote it: in a TrainingJob the template wins, so remove it")
		}
	}
	text := slices.Concat(own.Command, own.Args)
	for _, v := range own.Env {
		text = append(text, v.Value)
	}
	all := strings.Join(text, "\n")
	for _, f := range formerly {
		if strings.Contains(all, f.word) {
			c.note(Changed, path, f.word, "%s", f.advice)
		}
	}
	for _, host := range c.hostNames(all) {
		c.note(Changed, path, host, "was the name of a Service of that replica: write %s, as one Service has all replicas of the job", c.newHost(host))
	}
}

// variables returns the names of the variables that the old operator set in each container of the job.
func (c *conversion) variables() []string {
	names, replicas := c.kind.variables, int32(0)
	for _, role := range c.job.Spec.Roles() {
		replicas += c.job.Spec.Replicas(role)
	}
	if c.has(master) {
		names = slices.Concat(names, c.kind.masterVariables)
	}
	if replicas > 1 {
		names = slices.Concat(names, c.kind.joinedVariables)
	}
	return names
}

// takeOver removes variables of these names from the containers, as the operator's values win in a job that it serves. Kubeflow's operator appended
// its own, TF_CONFIG only to the container tensorflow, and none to init containers.
func (c *conversion) takeOver(names ...string) {
	for _, role := range c.job.Spec.Roles() {
		containers := c.job.Spec.ReplicaSpecs[role].Template.Spec.Containers
		for i := range containers {
			if own := &containers[i]; c.served && (c.kind.framework != v1alpha1.TensorFlow || own.Name == c.kind.container) {
				own.Env = slices.DeleteFunc(own.Env, func(v corev1.EnvVar) bool { return slices.Contains(names, v.Name) })
			}
		}
	}
}

// hostNames returns the host names of replicas in the text that lack the name of the job's Service.
func (c *conversion) hostNames(text string) []string {
	name := regexp.QuoteMeta(c.job.Name)
	var found []string
	for _, match := range regexp.MustCompile(`\b`+name+`-(?:chief|master|launcher|ps|worker|evaluator)-\d+(?:\.`+name+`\b)?`).FindAllString(text, -1) {
		if !strings.Contains(match, ".") && c.job.Name != "" && !slices.Contains(found, match) {
			found = append(found, match)
		}
	}
	return found
}

// newHost returns the name of a replica within its namespace.
func (c *conversion) newHost(host string) string {
	rest := strings.TrimPrefix(host, c.job.Name+"-")
	former, index, _ := strings.Cut(rest, "-")
	role := v1alpha1.Role(former)
	if known, found := c.kind.roles[former]; found {
		role = known
	}
	return fmt.Sprintf("%s-%s-%s.%s", c.job.Name, strings.ToLower(string(role)), index, c.job.Name)
}
