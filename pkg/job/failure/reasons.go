package failure

import (
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Reason holds facts about a reason for the end of a pod. Kubernetes gives the reason, or the operator where Kubernetes has none.
type Reason struct {
	// clause completes "worker-1 on gpu-3 ..."; empty if the reason has none.
	clause string
	// IsNodeFault is whether the node itself failed, or its kubelet rejected the pod before a container ran. The job then avoids the
	// node after one failure.
	IsNodeFault bool
	// IsOnNode is whether the Node or its devices show the reason, so that it matters to other jobs. A template that names a node can get
	// every other reason from a healthy one: UnexpectedAdmissionError if its GPUs are taken, DeletionByTaintManager if an administrator
	// keeps the node for another team, NodeShutdown while it restarts, and OutOfcpu or SysctlForbidden at any time.
	IsOnNode bool
	// IsOfTemplate is whether a limit of the pod's own template ended it. The node only enforced the limit.
	IsOfTemplate bool
	// showsLate is whether the pod's peers may fail long before the reason shows.
	showsLate bool
	// IsForgotten is whether the node does not know how the container ended, as after a reboot. The time of the end is then the time at
	// which the kubelet looked, by the node's clock.
	IsForgotten bool
}

// preempted is the reason of a pod that the scheduler removed for another one.
const preempted = "PreemptionByScheduler"

// terminated is the reason of a pod that its kubelet ended for the sake of the node.
const terminated = "TerminationByKubelet"

// reasons holds all reasons with facts of their own.
// Source: k8s.io/kubernetes/pkg/kubelet/lifecycle/predicate.go, the kubelet's other admit handlers, and the reasons of DisruptionTarget.
var reasons = map[string]Reason{
	v1alpha1.ReasonNodeLost:        {clause: "lost its node", IsNodeFault: true, IsOnNode: true, showsLate: true},
	v1alpha1.ReasonNodeSilent:      {clause: "lost its node", IsNodeFault: true, IsOnNode: true, showsLate: true},
	v1alpha1.ReasonNodeTainted:     {clause: "lost its node", IsNodeFault: true, IsOnNode: true, showsLate: true},
	v1alpha1.ReasonNodeDeleted:     {clause: "lost its node", showsLate: true},
	v1alpha1.ReasonNodeUnhealthy:   {clause: "lost its node", IsNodeFault: true, IsOnNode: true},
	v1alpha1.ReasonDeviceUnhealthy: {clause: "lost a device", IsNodeFault: true, IsOnNode: true},
	v1alpha1.ReasonPreflightFailed: {clause: "failed a preflight check of its node", IsNodeFault: true},
	v1alpha1.ReasonDomainFull:      {clause: "found no room in its domain"},
	v1alpha1.ReasonDeleted:         {clause: "was deleted"},
	preempted:                      {clause: "was preempted"},
	"EvictionByEvictionAPI":        {clause: "was drained or evicted"},
	"DeletionByTaintManager":       {clause: "was evicted from a tainted node", IsNodeFault: true, showsLate: true},
	"DeletionByDeviceTaintManager": {clause: "lost a device", showsLate: true},
	"DeletionByPodGC":              {clause: "was garbage-collected", showsLate: true},
	terminated:                     {clause: "was ended by its node", IsNodeFault: true, showsLate: true},
	evicted:                        {clause: "was evicted by its node", IsOfTemplate: true},
	pastDeadline:                   {clause: "was ended by its node", IsOfTemplate: true},
	"UnschedulableOnAssignedNode":  {clause: "was ended by Kueue before it had a node"},
	"ContainerStatusUnknown":       {clause: "was lost by its node", IsForgotten: true},
	"Unknown":                      {clause: "was lost by its node", IsForgotten: true},

	"UnexpectedAdmissionError":           {clause: "was rejected by its node", IsNodeFault: true},
	"TopologyAffinityError":              {IsNodeFault: true},
	"SMTAlignmentError":                  {IsNodeFault: true},
	"NodeAffinity":                       {IsNodeFault: true},
	"NodeName":                           {IsNodeFault: true},
	"NodePorts":                          {IsNodeFault: true},
	"TaintToleration":                    {IsNodeFault: true},
	"InvalidNodeInfo":                    {IsNodeFault: true},
	"AppArmor":                           {IsNodeFault: true},
	"SysctlForbidden":                    {IsNodeFault: true},
	"PodOSNotSupported":                  {IsNodeFault: true},
	"PodOSSelectorNodeLabelDoesNotMatch": {IsNodeFault: true},
	"NodeShutdown":                       {IsNodeFault: true},
}

// ReasonOf returns the facts about the reason; the zero Reason if there are none.
func ReasonOf(reason string) Reason {
	known, isKnown := reasons[reason]
	if !isKnown { // OutOfcpu, OutOfnvidia.com/gpu; UnexpectedAdmissionError, and the like
		known.IsNodeFault = strings.HasPrefix(reason, "OutOf") || strings.HasPrefix(reason, "Unexpected")
	}
	return known
}

// outOfMemory is the kubelet's reason for a container that the kernel killed because it ran out of memory.
const outOfMemory = "OOMKilled"

// evicted is the kubelet's reason for a pod that uses more than it may, or than its node has.
const evicted = "Evicted"

// pastDeadline is the kubelet's reason for a pod that was active for longer than its own activeDeadlineSeconds.
const pastDeadline = "DeadlineExceeded"
