package nodes

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Signal is a condition, a taint or a cordon. It shows that a node is unhealthy or about to go.
type Signal struct {
	Kind SignalKind
	// Name is the condition's type or the taint's key; empty for a cordon.
	Name string
}

// SignalKind is the part of a Node that gives a signal.
type SignalKind string

// The kinds of signals.
const (
	// ConditionSignal is a condition of the node that is True. Unknown does not count.
	ConditionSignal SignalKind = "condition"
	// TaintSignal is a taint, whatever its value and effect.
	TaintSignal SignalKind = "taint"
	// CordonSignal is a node that is marked as unschedulable.
	CordonSignal SignalKind = "cordon"
)

// String returns the signal in the form of the flags: condition:KernelDeadlock, taint:karpenter.sh/disrupted, cordon.
func (s Signal) String() string {
	if s.Name == "" {
		return string(s.Kind)
	}
	return string(s.Kind) + ":" + s.Name
}

// Signals maps each signal to the operator's action. The operator ignores all other signals.
type Signals map[Signal]state.NodeAction

// NoSignals is the entry that removes all signals before it.
const NoSignals = "none"

// DefaultSignals returns the actions without any flag.
//
//   - Blame: the conditions of faults that NVSentinel calls fatal. It resets or reboots the node, and until then a rank there may fail. Also
//     the taints by which a cloud announces that it stops the machine, and a drain or shutdown that has begun.
//   - Avoid: faults that slow a node down, and possible false alarms. The conditions of node-problem-detector are lines in a log; they stay
//     True until it restarts, so a program that runs well there stays. After a cordon, or a taint of an autoscaler, an administrator or the
//     autoscaler evicts the pods itself, or takes the mark back. A maintenance may be days away, or need no drain, as a live patch.
//
// Sources: the node conditions of KEP-5683, in k8s.io/api/core/v1; NVIDIA/NVSentinel docs/INTEGRATIONS.md, and the names that its monitors set (GpuNvswitchFatalWatch is the condition of what the
// document calls NVSwitchFatalError); kubernetes/node-problem-detector config/*.json; kubernetes/autoscaler
// cluster-autoscaler/utils/taints/taints.go; kubernetes-sigs/karpenter pkg/apis/v1/taints.go; aws/aws-node-termination-handler pkg/node/node.go.
func DefaultSignals() Signals {
	signals := Signals{{Kind: CordonSignal}: state.AvoidNode}
	for action, listed := range map[state.NodeAction]map[SignalKind][]string{
		state.BlameNode: {
			ConditionSignal: {
				"GpuMemWatch", "GpuSmWatch", "GpuInforomWatch", "GpuNvlinkWatch", "GpuPcieWatch", "GpuDriverWatch", "GpuMcuWatch", "GpuPmuWatch",
				"GpuNvswitchFatalWatch", "NVSwitchFatalError", "NVSwitchDown", "SysLogsXIDError", "SysLogsSXIDError", "SysLogsGPUFallenOff",
				"CSPMaintenance", string(corev1.NodeDrainInProgress), string(corev1.NodeGracefulNodeShutdownInProgress),
			},
			TaintSignal: {
				"cloud.google.com/impending-node-termination", "aws-node-termination-handler/spot-itn",
				"aws-node-termination-handler/scheduled-maintenance", "aws-node-termination-handler/asg-lifecycle-termination",
			},
		},
		state.AvoidNode: {
			ConditionSignal: {
				"GpuThermalWatch", "GpuPowerWatch",
				string(corev1.NodeMaintenancePlanned), string(corev1.NodeMaintenanceInProgress), string(corev1.NodeDrained),
				"KernelDeadlock", "ReadonlyFilesystem", "XfsShutdown", "CorruptDockerOverlay2", "KubeletUnhealthy", "ContainerRuntimeUnhealthy",
				"FrequentKubeletRestart", "FrequentContainerdRestart", "FrequentDockerRestart", "FrequentUnregisterNetDevice",
			},
			TaintSignal: {
				"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "aws-node-termination-handler/rebalance-recommendation",
			},
		},
	} {
		for kind, names := range listed {
			for _, name := range names {
				signals[Signal{kind, name}] = action
			}
		}
	}
	return signals
}

// With returns the signals after the entries, such as "condition:KernelDeadlock=Blame", in their order. The entry "none" removes all signals
// before it. An error names what to write instead.
func (s Signals) With(entries []string) (Signals, error) {
	all := maps.Clone(s)
	for _, entry := range entries {
		if entry == NoSignals {
			clear(all)
			continue
		}
		signal, action, err := parseSignal(entry)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", entry, err)
		}
		all[signal] = action
	}
	return all, nil
}

// parseSignal reads an entry. Its errors end with what to write instead.
func parseSignal(entry string) (Signal, state.NodeAction, error) {
	text, name, _ := strings.Cut(entry, "=")
	action := state.NodeAction(slices.Index(state.NodeActions, name))
	kind, name, named := strings.Cut(text, ":")
	signal := Signal{SignalKind(kind), name}
	switch {
	case signal.Kind == CordonSignal && !named:
		if action == state.LoseNode {
			return signal, 0, errors.New("pods on a cordoned node run on: write cordon=Blame, cordon=Avoid or cordon=Ignore")
		}
	case signal.Kind != ConditionSignal && signal.Kind != TaintSignal || len(content.IsLabelKey(name)) > 0:
		return signal, 0, errors.New("write condition:TYPE=ACTION, taint:KEY=ACTION, cordon=ACTION or none")
	case signal == Signal{ConditionSignal, string(corev1.NodeReady)}:
		return signal, 0, errors.New("a node is unhealthy if the condition is True, and healthy if it is Ready: write how long it may be not ready into --node-lost-after")
	case signal == Signal{TaintSignal, corev1.TaintNodeOutOfService} && action != state.LoseNode:
		return signal, 0, errors.New("pods on a node with this taint always count as lost: write nothing about it")
	}
	if action < state.IgnoreNode {
		return signal, 0, fmt.Errorf("write one of %s after the =", strings.Join(state.NodeActions, ", "))
	}
	return signal, action, nil
}

// String returns the signals in the form of the flags, by kind and name.
func (s Signals) String() string {
	var list []string
	for signal, action := range s {
		list = append(list, signal.String()+"="+action.String())
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// Match reports whether the condition shows that its node is unhealthy now.
func (s Signals) Match(c *corev1.NodeCondition) bool {
	return c.Status == corev1.ConditionTrue && s[Signal{ConditionSignal, string(c.Type)}] > state.IgnoreNode
}

// of returns the strongest action of the node's signals, and the trouble that this signal shows; the first one if several are equally
// strong. It returns IgnoreNode if the node shows no signal that counts.
func (s Signals) of(node *corev1.Node) (action state.NodeAction, trouble state.Trouble) {
	consider := func(signal Signal, tell func() state.Trouble) {
		if does := s[signal]; does > action {
			action, trouble = does, tell()
		}
	}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Status == corev1.ConditionTrue {
			consider(Signal{ConditionSignal, string(c.Type)}, func() state.Trouble { return troubleOfCondition(c) })
		}
	}
	for i := range node.Spec.Taints {
		t := &node.Spec.Taints[i]
		consider(Signal{TaintSignal, t.Key}, func() state.Trouble { return troubleOfTaint(t) })
	}
	if node.Spec.Unschedulable {
		consider(Signal{Kind: CordonSignal}, func() state.Trouble { return unhealthy("cordoned") })
	}
	return action, trouble
}

// unhealthy returns the trouble of a node that a signal shows to be unhealthy.
func unhealthy(words string) state.Trouble {
	return state.Trouble{Reason: v1alpha1.ReasonNodeUnhealthy, Message: state.Quote(words)}
}

func troubleOfCondition(c *corev1.NodeCondition) state.Trouble {
	text := string(c.Type)
	if c.Reason != "" {
		text += " (" + c.Reason + ")"
	}
	if c.Message != "" {
		text += ": " + c.Message
	}
	trouble := unhealthy(text)
	trouble.Time = c.LastTransitionTime.Time
	return trouble
}

func troubleOfTaint(t *corev1.Taint) state.Trouble {
	trouble := state.Trouble{Reason: v1alpha1.ReasonNodeTainted, Message: "tainted " + t.Key}
	if t.TimeAdded != nil {
		trouble.Time = t.TimeAdded.Time
	}
	return trouble
}
