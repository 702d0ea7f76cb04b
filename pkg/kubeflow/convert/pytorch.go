package convert

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// torchrun's variables for its flags --nproc-per-node and --max-restarts.
const (
	processesPerNode = "PET_NPROC_PER_NODE"
	maxRestarts      = "PET_MAX_RESTARTS"
)

// pytorch converts what only a PyTorchJob has.
func (c *conversion) pytorch(spec *fields) {
	leader := worker
	if c.has(master) {
		leader = master
	}
	isElastic := spec.unread["elasticPolicy"] != nil
	elastic := spec.object("elasticPolicy")
	c.processes(spec, elastic)
	if !c.has(master) && !isElastic {
		c.needsAll()
	}
	if isElastic {
		c.elastic(elastic)
	}
	if !c.has(master) && isElastic {
		c.needsAny()
	}
	c.namePort(leader)
}

// processes converts the number of processes that torchrun starts in a pod, which had two fields.
func (c *conversion) processes(spec, elastic *fields) {
	path, number := spec.at("nprocPerNode"), ptr.Deref(read[string](spec, "nprocPerNode"), "")
	if former := read[int32](elastic, "nProcPerNode"); former != nil {
		path, number = elastic.at("nProcPerNode"), strconv.Itoa(int(*former))
	}
	if number == "" {
		c.automaticProcesses(path)
		return
	}
	c.setEnv(processesPerNode, number)
	if c.served {
		return
	}
	c.note(Changed, path, number, "becomes the variable %s of each container; WORLD_SIZE and RANK count pods until torchrun sets them again", processesPerNode)
}

// automaticProcesses keeps the default, auto, where a TrainingJob has another one that starts fewer processes: the pod does not show which devices
// its claims hold. For a template without devices it notes the difference.
func (c *conversion) automaticProcesses(path string) {
	isNoted := false
	for _, role := range c.job.Spec.Roles() {
		template := c.job.Spec.ReplicaSpecs[role].Template
		switch hasClaims := len(template.Spec.ResourceClaims) > 0; {
		case c.served, hasClaims:
			c.setEnvOf(role, corev1.EnvVar{Name: processesPerNode, Value: "auto"})
			if hasClaims && !c.served {
				c.note(Changed, path, nil, "is auto by default, and stays so for role %s, by the variable %s: a TrainingJob does not count the devices of resource claims", role, processesPerNode)
			}
		case says(&template, "torchrun", "torch.distributed") && len(mainOf(&template).Resources.Limits) == 0 && !isNoted:
			isNoted = true
			c.note(Changed, path, nil, "is auto by default, which without GPUs starts a process per CPU: a TrainingJob starts one; write %s: auto into the template", processesPerNode)
		}
	}
}

// elastic converts the bounds of the workers, and where they meet.
func (c *conversion) elastic(f *fields) {
	workers, found := c.job.Spec.ReplicaSpecs[worker]
	if !found {
		c.fail(f.path, "needs a role Worker")
		return
	}
	low, high := read[int32](f, "minReplicas"), read[int32](f, "maxReplicas")
	low, high = cmp.Or(low, high, workers.Replicas), cmp.Or(high, low, workers.Replicas)
	if *low > *high || *low < 1 {
		c.fail(f.path, "has minReplicas %d and maxReplicas %d: write at least 1, and not more than maxReplicas", *low, *high)
		return
	}
	workers.Replicas = c.within("spec.pytorchReplicaSpecs."+c.sources[worker]+".replicas", int64(*workers.Replicas), int64(*low), int64(*high))
	c.job.Spec.ReplicaSpecs[worker] = workers
	c.job.Spec.Elastic = &v1alpha1.Elastic{MinReplicas: *low, MaxReplicas: *high, Rendezvous: c.rendezvous(f)}
	if c.has(master) {
		c.note(Changed, f.path, nil, "torchrun waits for minReplicas to maxReplicas workers and the master; the master was not counted")
	}
	c.takeOver("PET_RDZV_BACKEND", "PET_RDZV_ENDPOINT")
	if f.unread["rdzvId"] != nil {
		c.takeOver("PET_RDZV_ID")
	}
	if restarts := read[int32](f, "maxRestarts"); restarts != nil {
		c.setEnv(maxRestarts, strconv.Itoa(int(*restarts)))
		c.note(Changed, f.at("maxRestarts"), *restarts, "becomes torchrun's variable %s of each container; recovery.maxRestarts limits restarts of pods", maxRestarts)
	}
	if c.served { // the operator makes the HorizontalPodAutoscaler
		f.take("metrics")
	}
	c.drop(f, "metrics", "write a HorizontalPodAutoscaler with these metrics and scaleTargetRef: {apiVersion: %s, kind: %s, name: %s}",
		v1alpha1.GroupVersion, v1alpha1.Kind, c.job.Name)
	c.drop(f, "rdzvId", "each attempt has its own id, so that no worker of a past attempt joins")
	c.drop(f, "standalone", "write torchrun --standalone in a job of one worker that is not elastic")
	c.leftOver(f)
}

// setting is what a TrainingJob takes as a setting of a rendezvous, and mostSettings how many.
var setting = regexp.MustCompile(`^[A-Za-z0-9_]{1,126}=[^,]{0,126}$`)

const mostSettings = 16

// rendezvous converts where the workers meet; nil if that is the leader, by c10d.
func (c *conversion) rendezvous(f *fields) *v1alpha1.Rendezvous {
	given := v1alpha1.Rendezvous{Backend: ptr.Deref(read[string](f, "rdzvBackend"), "c10d"), Endpoint: c.endpoint(f)}
	switch given.Backend {
	case "c10d":
	case "etcd", "etcd-v2":
		if given.Endpoint == "" {
			c.fail(f.at("rdzvHost"), "is missing: the backend %s is outside the job", given.Backend)
		}
	default:
		c.fail(f.at("rdzvBackend"), "is %s: write c10d, etcd or etcd-v2", given.Backend)
	}
	settings := ptr.Deref(read[[]map[string]any](f, "rdzvConf"), nil)
	if len(settings) > 0 {
		c.takeOver("PET_RDZV_CONF")
	}
	for i, own := range settings {
		pair := &fields{path: fmt.Sprintf("%s[%d]", f.at("rdzvConf"), i), unread: own, errs: &c.errs}
		text := ptr.Deref(read[string](pair, "key"), "") + "=" + ptr.Deref(read[string](pair, "value"), "")
		if len(given.Conf) == mostSettings || !setting.MatchString(text) {
			c.note(Dropped, pair.path, text, "a rendezvous has at most %d settings key=value, of at most 126 letters on each side and without commas: shorten it", mostSettings)
		} else {
			given.Conf = append(given.Conf, text)
		}
		c.leftOver(pair)
	}
	if given.Backend == "c10d" && given.Endpoint == "" && given.Conf == nil {
		return nil
	}
	return &given
}

// endpoint converts the address of a store outside the job; empty if it is the leader's.
func (c *conversion) endpoint(f *fields) string {
	host, port := read[string](f, "rdzvHost"), read[int32](f, "rdzvPort")
	if host == nil || *host == c.job.Name+"-worker-0" || *host == c.job.Name+"-master-0" {
		if host != nil {
			c.note(Changed, f.at("rdzvHost"), *host, "is of the job itself: the leader holds the store, which needs no address")
		}
		if port != nil {
			c.note(Dropped, f.at("rdzvPort"), *port, "the leader's store is at its container port %s, else at %d", c.kind.port.name, c.kind.port.number)
		}
		return ""
	}
	if port == nil {
		port = ptr.To(c.kind.port.number)
		c.note(Added, f.at("rdzvPort"), nil, "is %d by default", *port)
	}
	return fmt.Sprintf("%s:%d", *host, *port)
}
