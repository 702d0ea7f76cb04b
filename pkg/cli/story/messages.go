package story

import (
	"regexp"
	"slices"
)

// message is a part of what Kubernetes, an add-on or the operator reports, and what to do about it. $1 in the text is what the pattern captures;
// patterns capture names only, because tenants choose many of the words.
type message struct {
	pattern *regexp.Regexp
	text    string
}

func on(pattern, text string) message { return message{regexp.MustCompile(`(?i)` + pattern), text} }

const (
	name         = `"?([a-z0-9][-a-z0-9.]*)"?`
	waitForRoom  = "Wait for room, or ask for less: kubectl describe nodes shows what is free."
	administered = "Ask an administrator: "
)

// messages are in the order of their sources; the first that matches a text counts.
var messages = slices.Concat(ofAdmission, ofKueue, ofVolumes, ofKubelet, ofScheduler)

// Sources: the admission plugins of k8s.io/kubernetes/plugin/pkg/admission, k8s.io/pod-security-admission, and pkg/operator/cluster.
var ofAdmission = []message{
	on(`apply (manifests/components/[a-z-]+)`, administered+"kubectl apply -k $1"),
	on(`error looking up service account [^:]*: serviceaccount `+name+` not found`, "Create it: kubectl create serviceaccount -n NS $1. Or correct serviceAccountName in the template. The operator tries again by itself."),
	on(`no PriorityClass with name `+name+` was found`, "Correct the name, or have the class created: kubectl get priorityclasses. "+changeTemplate),
	on(`violates PodSecurity`, "Set in the template's securityContext what the message lists, or ask an administrator for another level of the namespace. "+changeTemplate),
	on(`because it is being terminated`, "Submit the job in another namespace: this one is being deleted."),
	on(`failed quota: [^:]*: must specify`, "Write the requests or limits that the message lists for each container: the quota of the namespace demands them. "+changeTemplate),
	on(`exceeded quota`, "See what the quota leaves: kubectl describe quota -n NS. Ask for less, or have it raised; the operator tries again by itself."),
	on(`(maximum|minimum) [a-z0-9./-]+ (usage|limit to request ratio) per (container|pod)`, "Ask for an amount within the LimitRange: kubectl describe limitrange -n NS. "+changeTemplate),
	on(`failed calling webhook `+name, administered+"the admission webhook $1 does not answer. The operator tries again by itself."),
	on(`system:serviceaccount:[^"]*" cannot`, administered+"the operator lacks this right. kubectl apply -f manifests/base/operator-role.yaml grants what jobs need."),
}

// Source: sigs.k8s.io/kueue pkg/cache/queue, pkg/scheduler and pkg/scheduler/flavorassigner.
var ofKueue = []message{
	on(`LocalQueue `+name+` doesn't exist`, "Correct the label kueue.x-k8s.io/queue-name, or have the queue created: kubectl get localqueues.kueue.x-k8s.io -n NS"),
	on(`(?:LocalQueue|ClusterQueue) `+name+` (?:doesn't exist|is inactive|is stopped|is terminating|not found)`, administered+"queue $1 admits no jobs. kubectl describe localqueues.kueue.x-k8s.io -n NS shows why."),
	on(`maximum capacity`, "Ask for less: the queue's quota never has room for this job. kubectl describe localqueues.kueue.x-k8s.io -n NS"),
	on(`insufficient (unused )?quota|couldn't assign flavors`, "Wait for the queue, or ask for less: kubectl describe localqueues.kueue.x-k8s.io -n NS shows what others use."),
	on(`Exceeded the PodsReady timeout`, "See what its pods waited for: kubectl describe tj -n NS NAME. Kueue took the quota back because they did not all run in time, and admits the job again after a back-off."),
	on(`workload is deactivated due to`, "Correct what kept the job from running; Kueue has given it up until it is suspended and resumed: kubectl tj suspend -n NS NAME, kubectl edit tj -n NS NAME, kubectl tj resume -n NS NAME"),
	on(`workload is deactivated`, "Ask an administrator why the job's Workload was deactivated: kubectl describe workloads.kueue.x-k8s.io -n NS"),
}

// Sources: the scheduler's plug-ins volumebinding, volumezone and nodevolumelimits, the kubelet's volume manager, and the attach controller.
var ofVolumes = []message{
	on(`unbound immediate PersistentVolumeClaims`, "See why its claim is not bound: kubectl get pvc,storageclass -n NS. Name a StorageClass in the claim, or have one made the default."),
	on(`persistentvolumeclaim `+name+` not found`, "Create the claim: kubectl get pvc -n NS shows those that exist. Or correct claimName in the template."),
	on(`persistentvolumeclaim `+name+` is being deleted`, "Wait until the claim $1 is gone and create it again, or name another one in the template."),
	on(`available persistent volumes to bind|non-existent (pv|persistentvolume)`, "Have a volume provided for the claim: kubectl get pv; kubectl describe pvc -n NS"),
	on(`volume node affinity conflict|match PersistentVolume's node affinity|no available volume zone`, "Let pods run where the volume is: kubectl get pv -o wide, and compare with nodeSelector and affinity of the template. A claim that several nodes share has access mode ReadWriteMany."),
	on(`ReadWriteOncePod access mode already in-use|Multi-Attach error`, "Use a claim with access mode ReadWriteMany, or one claim for each replica: another pod or node still holds this volume."),
	on(`exceed max volume count|no available disk`, waitForRoom+" The nodes hold as many volumes as they can."),
	on(`MountVolume.* (secret|configmap) `+name+` not found`, "Create the object that the message names; the kubelet tries again by itself. Or correct volumes in the template."),
	on(`(MountVolume|AttachVolume|Unable to attach or mount volumes)`, "See why the volume does not mount: kubectl describe pod -n NS POD, kubectl describe pvc -n NS. A driver that fails is the administrator's."),
}

// Sources: pkg/kubelet/images, pkg/kubelet/kuberuntime, containerd, CRI-O, runc, and registries.
var ofKubelet = []message{
	on(`pull policy of Never`, "Load the image on the node, or set another imagePullPolicy. "+changeTemplate),
	on(`toomanyrequests|429 Too Many`, "Wait, or pull from another registry or with credentials (imagePullSecrets): the registry limits how often this node pulls."),
	on(`(pull|image).*(unauthorized|authentication required|access denied|403 Forbidden|denied:)`, "Check the image's name, and give the pods credentials: imagePullSecrets in the template, or in their ServiceAccount. "+changeTemplate),
	on(`(pull|image).*(no such host|i/o timeout|connection refused|x509|TLS handshake)`, administered+"the node cannot reach the registry. kubectl describe pod -n NS POD shows the address."),
	on(`no match for platform|does not match the specified platform|exec format error`, "Use an image for the platform of the node: kubectl get node NODE -o wide. "+changeTemplate),
	on(`(pull|image).*(not found|manifest unknown|does not exist)|InvalidImageName|couldn't parse image`, "Correct the image's name or tag. "+changeTemplate),
	on(`(configmap|secret) `+name+` not found|couldn't find key`, "Create the ConfigMap or Secret that the message names; the kubelet tries again by itself. Or correct env and envFrom of the template."),
	on(`runAsNonRoot|non-numeric user`, "Set securityContext.runAsUser to a number other than 0, or use an image with such a user. "+changeTemplate),
	on(`nvidia-container-cli|libnvidia|no runtime for "nvidia"|could not select device driver`, administered+"the NVIDIA runtime of node NODE does not work. kubectl describe node NODE"),
	on(`failed to create (pod )?sandbox|FailedCreatePodSandBox`, administered+"node NODE cannot set up the pod's network or runtime. kubectl describe pod -n NS POD"),
}

// Source: ErrReason... and errReason... of the plug-ins in k8s.io/kubernetes/pkg/scheduler/framework/plugins.
var ofScheduler = []message{
	on(`no nodes available to schedule`, administered+"the cluster has no node for pods. kubectl get nodes"),
	on(`resourceclaim|cannot allocate all claims`, "See why its devices are not allocated: kubectl get resourceclaims,resourceclaimtemplates -n NS; kubectl get deviceclasses"),
	on(`insufficient |too many pods|preemption victims`, waitForRoom),
	on(`anti-affinity rules|pod affinity rules|topology spread`, "Loosen podAffinity, podAntiAffinity or topologySpreadConstraints of the template, or wait for nodes that meet them. "+changeTemplate),
	on(`node affinity/selector|requested node name|topology key`, "Correct nodeSelector, affinity or scheduling.topology: no free node has such labels. kubectl get nodes --show-labels. "+changeTemplate),
	on(`untolerated taint|taints that the pod didn't tolerate`, "Tolerate the taint that the message names in the template, or wait for other nodes: kubectl describe nodes. "+changeTemplate),
	on(`were unschedulable`, administered+"the nodes are cordoned. kubectl get nodes; kubectl uncordon brings one back."),
	on(`free ports`, "Leave hostPort and hostNetwork out of the template, or wait until a node's port is free. "+changeTemplate),
	on(`scheduling gates`, "Ask who set schedulingGates on the pod, as it waits for them to be removed: kubectl get pod -n NS POD -o jsonpath='{.spec.schedulingGates}'"),
}

// answering returns what to do about the texts, each advice once, in the order of the texts.
func answering(texts ...string) []string {
	var list []string
	for _, text := range texts {
		for _, m := range messages {
			found := m.pattern.FindStringSubmatchIndex(text)
			if found == nil {
				continue
			}
			if advice := string(m.pattern.ExpandString(nil, m.text, text, found)); !slices.Contains(list, advice) {
				list = append(list, advice)
			}
			break
		}
	}
	return list
}
