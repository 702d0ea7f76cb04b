package nodes_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

func TestANodeIsUnhealthyInItsOwnWords(t *testing.T) {
	says := func(kind, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: corev1.NodeConditionType(kind), Status: corev1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: builder.Time(5 * second)}
	}
	unknown := says("GpuMemWatch", "", "")
	unknown.Status = corev1.ConditionUnknown
	gpu := says("GpuMemWatch", "GpuMemWatchIsNotHealthy", "[79] fell off the bus - RecommendedAction: RESTART_VM")
	deadlock := says("KernelDeadlock", "", "")
	down := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: builder.Time(time.Second)}
	leaving := corev1.Taint{Key: "leaving", Effect: corev1.TaintEffectNoSchedule, TimeAdded: builder.TimePtr(7 * second)}
	const isGPU = "GpuMemWatch (GpuMemWatchIsNotHealthy): [79] fell off the bus - RecommendedAction: RESTART_VM"
	cases := []struct {
		name       string
		cordoned   bool
		taints     []corev1.Taint
		conditions []corev1.NodeCondition
		action     state.NodeAction
		words      string
		lost       string
		at         time.Duration
	}{
		{"a node that is well", false, []corev1.Taint{{Key: "gpu"}}, nil, state.IgnoreNode, "", "", 0},
		{"one that jobs are to leave", false, nil, []corev1.NodeCondition{gpu}, state.BlameNode, isGPU, "", 5 * second},
		{"one of which nobody knows", false, nil, []corev1.NodeCondition{unknown}, state.IgnoreNode, "", "", 0},
		{"one whose condition is ignored", false, nil, []corev1.NodeCondition{says("NVSwitchDown", "", "")}, state.IgnoreNode, "", "", 0},
		{"one whose condition nobody named", false, nil, []corev1.NodeCondition{says("MemoryPressure", "", "")}, state.IgnoreNode, "", "", 0},
		{"one that pods are to avoid", false, nil, []corev1.NodeCondition{deadlock}, state.AvoidNode, "KernelDeadlock", "", 5 * second},
		{"the strongest signal counts, whichever comes first", true, nil, []corev1.NodeCondition{deadlock, gpu}, state.BlameNode, isGPU, "", 5 * second},
		{"a cordon", true, nil, nil, state.AvoidNode, "cordoned", "", -1},
		{"a taint", true, []corev1.Taint{leaving}, nil, state.BlameNode, "tainted leaving", "", 7 * second},
		{"one that is lost by its own word", true, nil, []corev1.NodeCondition{gpu, says("MachineGone", "", "")}, state.IgnoreNode, "", "NodeUnhealthy MachineGone", 5 * second},
		{"one that is unhealthy and not ready", false, nil, []corev1.NodeCondition{gpu, down}, state.BlameNode, isGPU, "NodeLost not ready for 15s", 5 * second},
		{"what no line can hold is left out", false, nil, []corev1.NodeCondition{says("GpuMemWatch", "", "a\x1b\u202eb")}, state.BlameNode, "GpuMemWatch: a  b", "", 5 * second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := nodes.Of(&corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{Unschedulable: c.cordoned, Taints: c.taints}, Status: corev1.NodeStatus{Conditions: c.conditions},
			}, 15*second, signals)
			if n.Action != c.action || n.Unhealthy.Message != c.words || (n.Unhealthy.Reason == "NodeUnhealthy") != (c.action > state.IgnoreNode) {
				t.Errorf("%s (%s %s), want %s (%s)", n.Action, n.Unhealthy.Reason, n.Unhealthy.Message, c.action, c.words)
			}
			if got := strings.TrimSpace(n.Loss.Reason + " " + n.Loss.Message); got != c.lost {
				t.Errorf("lost: %q, want %q", got, c.lost)
			}
			if at := n.Unhealthy.Time; c.at > 0 && c.action > state.IgnoreNode && !at.Equal(builder.Epoch.Add(c.at)) {
				t.Errorf("since %v", at)
			}
		})
	}
}

// A monitor may say as much as it likes: what is kept of it is bounded, with the fault at its beginning and the advice at its end.
func TestTheWordsOfANodeAreCut(t *testing.T) {
	long := corev1.NodeCondition{Type: "GpuMemWatch", Status: corev1.ConditionTrue, Message: "[79] " + strings.Repeat("x", 5000) + " RecommendedAction: RESTART_VM"}
	words := nodes.Of(&corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{long}}}, 0, signals).Unhealthy.Message
	if len(words) > 500 || !strings.HasPrefix(words, "GpuMemWatch: [79] xxx") || !strings.HasSuffix(words, "xxx RecommendedAction: RESTART_VM") {
		t.Errorf("%d bytes: %s", len(words), words)
	}
}

func TestSignalsAreAddedToThoseThatAreKnown(t *testing.T) {
	known := nodes.Signals{{Kind: "cordon"}: state.AvoidNode, {Kind: "condition", Name: "A"}: state.BlameNode}
	cases := []struct {
		name    string
		entries []string
		want    string
	}{
		{"nothing", nil, "condition:A=Blame,cordon=Avoid"},
		{"another one", []string{"taint:example.com/x=Lost"}, "condition:A=Blame,cordon=Avoid,taint:example.com/x=Lost"},
		{"one in another way", []string{"condition:A=Ignore", "cordon=Blame"}, "condition:A=Ignore,cordon=Blame"},
		{"the last word counts", []string{"cordon=Blame", "cordon=Ignore"}, "condition:A=Blame,cordon=Ignore"},
		{"the known ones are forgotten", []string{"cordon=Blame", "none", "condition:B=Avoid"}, "condition:B=Avoid"},
		{"a type with a prefix", []string{"condition:example.com/B=Avoid"}, "condition:A=Blame,condition:example.com/B=Avoid,cordon=Avoid"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := known.With(c.entries)
			if diff := cmp.Diff(c.want, got.String()); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	if known.String() != "condition:A=Blame,cordon=Avoid" {
		t.Errorf("what was known has changed: %s", known)
	}
}

// Nobody is restarted because somebody cordons a node, or an autoscaler means to remove it: they may take it back.
func TestTheDefaultsRestartNobodyForWhatIsTakenBack(t *testing.T) {
	for signal, action := range nodes.DefaultSignals() {
		if isMine := strings.Contains(signal.String(), "Autoscaler") || strings.Contains(signal.String(), "karpenter") || signal.Kind == "cordon"; isMine && action > state.AvoidNode {
			t.Errorf("%s=%s", signal, action)
		}
		if action == state.LoseNode || action == state.IgnoreNode {
			t.Errorf("%s=%s", signal, action)
		}
		if _, err := (nodes.Signals{}).With([]string{signal.String() + "=" + action.String()}); err != nil {
			t.Error(err)
		}
	}
}

// The node conditions of Kubernetes 1.37 (KEP-5683) as its API describes them: what has begun makes a job leave, what is announced does not.
func TestKubernetesOwnConditionsOfMaintenanceAreSignals(t *testing.T) {
	signals := nodes.DefaultSignals()
	for name, want := range map[string]state.NodeAction{
		"DrainInProgress": state.BlameNode, "GracefulNodeShutdownInProgress": state.BlameNode,
		"MaintenancePlanned": state.AvoidNode, "MaintenanceInProgress": state.AvoidNode, "Drained": state.AvoidNode,
	} {
		if got, listed := signals[nodes.Signal{Kind: nodes.ConditionSignal, Name: name}]; !listed || got != want {
			t.Errorf("%s: %v (listed %v), want %v", name, got, listed, want)
		}
	}
}
