package advice

import (
	"regexp"
	"slices"
)

// message is a part of what Kubernetes, an add-on or the operator reports, and what to do about it. $found in the advice is what the pattern
// captures; patterns capture names only, because tenants choose many of the words.
type message struct {
	pattern *regexp.Regexp
	advice  Advice
}

func on(pattern string, parts ...Advice) message {
	return message{regexp.MustCompile(`(?i)` + pattern), row(parts...)}
}

// ask is advice for an administrator.
func ask(text string) Advice { return say("Ask an administrator: " + text) }

const (
	name         = `"?([a-z0-9][-a-z0-9.]*)"?`
	kueuesQueues = "localqueues.kueue.x-k8s.io $place"
)

// messages are in the order of their sources; the first that matches a text counts.
var messages = slices.Concat(ofAdmission, ofKueue, ofVolumes, ofKubelet, ofScheduler)

// Sources: the admission plugins of k8s.io/kubernetes/plugin/pkg/admission, k8s.io/pod-security-admission, and pkg/operator/cluster.
var ofAdmission = []message{
	on(`apply (manifests/components/[a-z-]+)`, do(Apply, "-k $found", "Ask an administrator: $do")),
	on(`error looking up service account [^:]*: serviceaccount `+name+` not found`, do(Create, "serviceaccount $place $found", "Create it: $do."), say("Or correct serviceAccountName in the template. The operator retries.")),
	on(`no PriorityClass with name `+name+` was found`, say("Correct the name, or have the class created."), do(Get, "priorityclasses", "The classes: $do."), changeTemplate),
	on(`violates PodSecurity`, say("Set in the template's securityContext what the message lists, or ask an administrator for another level of the namespace."), changeTemplate),
	on(`because it is being terminated`, say("Submit the job in another namespace, because this one is being deleted.")),
	on(`failed quota: [^:]*: must specify`, say("Write the requests or limits that the message lists for each container, because the quota of the namespace demands them."), changeTemplate),
	on(`exceeded quota`, checkQuota),
	on(`(maximum|minimum) [a-z0-9./-]+ (usage|limit to request ratio) per (container|pod)`, say("Request an amount within the LimitRange."), do(Describe, "limitrange $place", "See it: $do."), changeTemplate),
	on(`failed calling webhook `+name, ask("the admission webhook $found does not answer. The operator retries.")),
	on(`system:serviceaccount:[^"]*" cannot`, ask("the operator lacks this right."), do(Apply, "-f manifests/base/operator-role.yaml", "$do grants what jobs need.")),
}

// Source: sigs.k8s.io/kueue pkg/cache/queue, pkg/scheduler and pkg/scheduler/flavorassigner.
var ofKueue = []message{
	on(`LocalQueue `+name+` doesn't exist`, say("Correct the label kueue.x-k8s.io/queue-name, or have the queue created."), do(Get, kueuesQueues, "The queues: $do")),
	on(`(?:LocalQueue|ClusterQueue) `+name+` (?:doesn't exist|is inactive|is stopped|is terminating|not found)`, ask("queue $found admits no jobs."), do(Describe, kueuesQueues, "$do shows why.")),
	on(`maximum capacity`, say("Request less, because the queue's quota never has room for this job."), do(Describe, kueuesQueues, "See it: $do")),
	on(`insufficient (unused )?quota|couldn't assign flavors`, say("Wait for the queue, or request less."), do(Describe, kueuesQueues, "$do shows what others use.")),
	on(`Exceeded the PodsReady timeout`, do(Describe, "tj $place $name", "See what its pods waited for: $do."), say("Kueue took the quota back because they did not all run in time, and admits the job again after a back-off.")),
	on(`workload is deactivated due to`, say("Correct what kept the job from running. Kueue has given it up until it is suspended and resumed."), do(Change, "", "Change it: $do")),
	on(`workload is deactivated`, do(Describe, "workloads.kueue.x-k8s.io $place", "Ask an administrator why the job's Workload was deactivated: $do")),
}

// Sources: the scheduler's plug-ins volumebinding, volumezone and nodevolumelimits, the kubelet's volume manager, and the attach controller.
var ofVolumes = []message{
	on(`unbound immediate PersistentVolumeClaims`, do(Get, "pvc,storageclass $place", "See why its claim is not bound: $do."), say("Name a StorageClass in the claim, or ask an administrator for a default one.")),
	on(`persistentvolumeclaim `+name+` not found`, say("Create the claim, or correct claimName in the template."), do(Get, "pvc $place", "The existing claims: $do")),
	on(`persistentvolumeclaim `+name+` is being deleted`, say("Wait until the claim $found is gone and create it again, or name another one in the template.")),
	on(`available persistent volumes to bind|non-existent (pv|persistentvolume)`, say("Have a volume provided for the claim."), do(Get, "pv", "The volumes: $do."), do(Describe, "pvc $place", "The claim: $do")),
	on(`volume node affinity conflict|match PersistentVolume's node affinity|no available volume zone`, say("Let pods run where the volume is."), do(Get, "pv -o wide", "Compare the volume with nodeSelector and affinity of the template: $do."), say("A claim that several nodes share has access mode ReadWriteMany.")),
	on(`ReadWriteOncePod access mode already in-use|Multi-Attach error`, say("Use a claim with access mode ReadWriteMany, or a claim for each pod (examples/volumes.yaml), because another pod or node still holds this volume.")),
	on(`exceed max volume count|no available disk`, waitForRoom, say("The nodes hold as many volumes as they can.")),
	on(`MountVolume.* (secret|configmap) `+name+` not found`, createMissing, say("Or correct volumes in the template.")),
	on(`(MountVolume|AttachVolume|Unable to attach or mount volumes)`, see("See why the volume does not mount: $do."), do(Describe, "pvc $place", "Its claim: $do."), say("If a volume driver fails, ask an administrator.")),
}

// Sources: pkg/kubelet/images, pkg/kubelet/kuberuntime, containerd, CRI-O, runc, and registries.
var ofKubelet = []message{
	on(`pull policy of Never`, say("Load the image on the node, or set another imagePullPolicy."), changeTemplate),
	on(`toomanyrequests|429 Too Many`, say("Wait, or pull from another registry or with credentials (imagePullSecrets), because the registry limits how often this node pulls.")),
	on(`(pull|image).*(unauthorized|authentication required|access denied|403 Forbidden|denied:)`, say("Check the image's name, and give the pods credentials: imagePullSecrets in the template, or in their ServiceAccount."), changeTemplate),
	on(`(pull|image).*(no such host|i/o timeout|connection refused|x509|TLS handshake)`, ask("the node cannot reach the registry."), see("$do shows the address.")),
	on(`no match for platform|does not match the specified platform|exec format error`, say("Use an image for the platform of the node."), do(Get, "node $node -o wide", "The node: $do."), changeTemplate),
	on(`(pull|image).*(not found|manifest unknown|does not exist)|InvalidImageName|couldn't parse image`, say("Correct the image's name or tag."), changeTemplate),
	on(`(configmap|secret) `+name+` not found|couldn't find key`, createMissing, say("Or correct env and envFrom of the template.")),
	on(`resource ?claim ?template.* not found`, say("Create the missing ResourceClaimTemplate, or correct resourceClaims of the template."), changeTemplate),
	on(`runAsNonRoot|non-numeric user`, say("Set securityContext.runAsUser to a number other than 0, or use an image with such a user."), changeTemplate),
	on(`nvidia-container-cli|libnvidia|no runtime for "nvidia"|could not select device driver`, ask("the NVIDIA runtime of node $node does not work."), do(Describe, "node $node", "See the node: $do")),
	on(`failed to create (pod )?sandbox|FailedCreatePodSandBox`, ask("node $node cannot set up the pod's network or runtime."), see("See the pod: $do")),
}

// "No preemption victims found" ends each message about room, ports or affinity, and is no cause of its own. Source: ErrReason... and errReason... of the plug-ins in k8s.io/kubernetes/pkg/scheduler/framework/plugins.
var ofScheduler = []message{
	on(`no nodes available to schedule`, ask("the cluster has no node for pods."), do(Get, "nodes", "See the nodes: $do")),
	on(`resourceclaim|cannot allocate all claims`, do(Get, "resourceclaims,resourceclaimtemplates $place", "See why its devices are not allocated: $do."), do(Get, "deviceclasses", "The classes: $do")),
	on(`insufficient |too many pods`, waitForRoom),
	on(`free ports`, say("Remove hostPort and hostNetwork from the template, or wait until a node's port is free."), changeTemplate),
	on(`anti-affinity rules|pod affinity rules|topology spread`, say("Loosen podAffinity, podAntiAffinity or topologySpreadConstraints of the template, or wait for nodes that meet them."), changeTemplate),
	on(`node affinity/selector|requested node name|topology key`, set("scheduling.topology", "Correct nodeSelector, affinity or $field, because no free node has such labels."), do(Get, "nodes --show-labels", "The labels: $do."), changeTemplate),
	on(`untolerated taint|taints that the pod didn't tolerate`, say("Tolerate the taint that the message names in the template, or wait for other nodes."), do(Describe, "nodes", "The nodes: $do."), changeTemplate),
	on(`were unschedulable`, ask("the nodes are cordoned."), do(Get, "nodes", "See them: $do."), do(Uncordon, "", "$do brings one back.")),
	on(`scheduling gates`, do(Get, "pod $place $pod -o jsonpath='{.spec.schedulingGates}'", "Ask who set schedulingGates on the pod, because it waits until they are removed: $do")),
}

// ofPrograms are for the line of a program's log that explains its end. Sources: PyTorch's c10, NCCL, XLA, TensorFlow, Paddle and the CUDA runtime.
var ofPrograms = []message{
	on(`CUDA out of memory|RESOURCE_EXHAUSTED|OOM when allocating|Out of memory error on GPU`, say("The memory of the GPU is full. Use smaller batches, checkpoint activations or shard more. If other processes use this GPU, see who shares it.")),
	on(`device-side assert`, say("A kernel got a value out of range, such as a label that is not below the number of classes. To see the call, run it once with CUDA_LAUNCH_BLOCKING=1 or on a CPU.")),
	on(`illegal memory access|misaligned address`, say("A kernel accessed invalid memory. To see which, run it once with CUDA_LAUNCH_BLOCKING=1. If it fails on one node only, ask an administrator to check the node's kernel log for Xid errors.")),
	on(`Duplicate GPU detected`, say("Two ranks use one GPU. Call torch.cuda.set_device() with LOCAL_RANK, and request a GPU for each rank of a pod in resources.limits.")),
	on(`watchdog.*time-?out|collective operation time-?out`, do(Logs, "--attempt $attempt --tail 20", "A rank did not join a collective in time. See what each did last: $do."), say("If all were at work, raise the timeout of init_process_group.")),
	on(`driver version is insufficient|driver on your system is too old`, say("The image needs a newer driver than node $node has. Use an image with an older CUDA, or ask an administrator for a newer driver.")),
	on(`no kernel image is available|unsupported toolchain|lib(cu|nccl)[a-z]*\.so\S* ?: cannot open`, say("The image was not built for this GPU, or lacks a library of CUDA. Use a build of the framework for the GPU and for the CUDA of the image.")),
	on(`No CUDA GPUs are available|no CUDA-capable device|No supported gpu backend|Found no NVIDIA driver`, say("The container has no GPU. Request one in resources.limits, and use an image with CUDA."), changeTemplate),
	on(`Bus error|/dev/shm|shared memory`, say("The shared memory is full: /dev/shm has 64 MiB. Mount an emptyDir of medium Memory there, or use fewer loader processes."), changeTemplate),
	on(`EADDRINUSE|address already in use`, say("Another process of the pod uses the port; with hostNetwork, one of its node. Start one server for each pod, or use another port.")),
}

// AnsweringProgram returns what to do about the line of a program's log that explains its end; nil if it is not known.
func AnsweringProgram(line string) Advice {
	return answer(ofPrograms, line)
}

// Answering returns what to do about the texts, in their order.
func Answering(texts ...string) []Advice {
	var list []Advice
	for _, text := range texts {
		if known := answer(messages, text); known != nil {
			list = append(list, known)
		}
	}
	return list
}

// answer returns what the first message that matches the text advises; nil if none does.
func answer(table []message, text string) Advice {
	for _, m := range table {
		if found := m.pattern.FindStringSubmatch(text); found != nil {
			advice := slices.Clone(m.advice)
			for i := range advice {
				advice[i].found = append(found, "")[1]
			}
			return advice
		}
	}
	return nil
}
