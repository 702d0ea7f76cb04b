//go:build e2e

package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// view is what can be seen of one job at one time. The job is nil if there is none.
type view struct {
	job  *v1alpha1.TrainingJob
	pods []corev1.Pod
}

func (v *view) isTrue(condition string) bool {
	return v.job != nil && meta.IsStatusConditionTrue(v.job.Status.Conditions, condition)
}

// haveEnded reports whether no pod can run. The pod of the last failure stays for its log, also while the job is suspended.
func (v *view) haveEnded() bool {
	return !slices.ContainsFunc(v.pods, func(pod corev1.Pod) bool {
		return pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
	})
}

func (v *view) condition(kind string) metav1.Condition {
	if c := meta.FindStatusCondition(v.job.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// pod returns the pod of the slot's latest life: pod("worker-1"). It is nil if there is none.
func (v *view) pod(slot string) *corev1.Pod {
	var latest *corev1.Pod
	var last ledger.Life
	for i := range v.pods {
		is, _ := ledger.LifeOf(v.job.Name, v.pods[i].Name)
		if is.Slot() == slot && (latest == nil || last.Before(is)) {
			latest, last = &v.pods[i], is
		}
	}
	return latest
}

// slots returns the slots of the pods in the phase, sorted: "ps-0 worker-1".
func (v *view) slots(phase corev1.PodPhase) string {
	var found []string
	for i := range v.pods {
		if v.pods[i].Status.Phase == phase && v.pods[i].DeletionTimestamp == nil {
			is, _ := ledger.LifeOf(v.job.Name, v.pods[i].Name)
			found = append(found, is.Slot())
		}
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

// uids returns the pods' UIDs by slot, without those of the slots named.
func (v *view) uids(except ...string) map[string]string {
	found := map[string]string{}
	for i := range v.pods {
		is, _ := ledger.LifeOf(v.job.Name, v.pods[i].Name)
		if !slices.Contains(except, is.Slot()) && ledger.CanRun(&v.pods[i]) && !isGivenUp(&v.pods[i]) {
			found[is.Slot()] = string(v.pods[i].UID)
		}
	}
	return found
}

// String returns the job's status and its pods.
func (v *view) String() string {
	if v.job == nil {
		return "there is no such job\n" + podTable(v.pods)
	}
	status, err := yaml.Marshal(v.job.Status)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("TrainingJob %s, generation %d, status:\n%s%s", v.job.Name, v.job.Generation, status, podTable(v.pods))
}

func podTable(pods []corev1.Pod) string {
	if len(pods) == 0 {
		return "no pods\n"
	}
	var text strings.Builder
	for i := range pods {
		p := &pods[i]
		fmt.Fprintf(&text, "pod %s: %s on %q", p.Name, p.Status.Phase, p.Spec.NodeName)
		if p.DeletionTimestamp != nil {
			text.WriteString(", being deleted")
		}
		if ledger.IsFenced(p) {
			text.WriteString(", out of the Service")
		}
		for _, c := range p.Status.ContainerStatuses {
			if c.State.Terminated != nil {
				fmt.Fprintf(&text, ", exited with %d (%s)", c.State.Terminated.ExitCode, c.State.Terminated.Reason)
			}
		}
		text.WriteString("\n")
	}
	return text.String()
}

// String returns everything in the place: jobs, pods and Events.
func (p *place) String() string {
	var jobs v1alpha1.TrainingJobList
	var pods corev1.PodList
	var events corev1.EventList
	for _, list := range []client.ObjectList{&jobs, &pods, &events} {
		if err := kube.List(p.ctx, list, client.InNamespace(p.namespace)); err != nil {
			return err.Error()
		}
	}
	var text strings.Builder
	for i := range jobs.Items {
		text.WriteString((&view{job: &jobs.Items[i]}).String())
	}
	text.WriteString(podTable(pods.Items))
	slices.SortFunc(events.Items, func(a, b corev1.Event) int { return cmp.Compare(a.EventTime.UnixNano(), b.EventTime.UnixNano()) })
	for i := range events.Items {
		if e := &events.Items[i]; e.InvolvedObject.Kind == v1alpha1.Kind {
			fmt.Fprintf(&text, "event %s %s: %s\n", e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
	return text.String()
}

// isGivenUp reports whether the pod was taken out of its job's Service and then deleted, as one on a lost node is.
func isGivenUp(pod *corev1.Pod) bool { return ledger.IsFenced(pod) && pod.DeletionTimestamp != nil }

// without returns the pods of all slots but one.
func without(v *view, slot string) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(v.pods), func(p corev1.Pod) bool {
		is, _ := ledger.LifeOf(v.job.Name, p.Name)
		return is.Slot() == slot
	})
}
