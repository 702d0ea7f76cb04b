package ledger_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

const gpu corev1.ResourceName = "nvidia.com/gpu"

// TestQuota shows that the audit of a queue notices: each history breaks one sentence, or none.
func TestQuota(t *testing.T) {
	first, second := holding("p-worker-0"), holding("p-worker-1")
	admitted, resting, runs := granted(2, "Admitted"), inQueue(true), inQueue(false)
	for name, c := range map[string]struct {
		history []ledger.Observation
		cluster *unstructured.Unstructured
		want    string
	}{
		"pods after their quota":                         {tale(runs, admitted, first(), second()), queueOf(4, "2"), ""},
		"quota that is free after the last pod":          {tale(runs, admitted, first(), gone("p-worker-0"), resting, granted(0)), queueOf(4, "0"), ""},
		"quota that is free when the last pod has ended": {tale(runs, admitted, first(), first(failing), granted(0)), queueOf(4, "0"), ""},
		"quota of a job that ends, with its pods":        {tale(runs, admitted, first(), done, gone("p-worker-0"), granted(2, "Finished")), queueOf(4, "0"), ""},
		"quota reserved for a job that waits for checks": {tale(resting, granted(2)), queueOf(4, "2"), ""},
		"quota of pods that outlive their job":           {tale(runs, admitted, first(), done), queueOf(4, "2"), ""},
		"quota between two lives of a job":               {tale(runs, admitted, first(), gone("p-worker-0")), queueOf(4, "2"), ""},
		"a gated pod, which holds nothing yet":           {tale(runs, first(gated), admitted, first()), queueOf(4, "2"), ""},
		"a pod that is given up on a lost node":          {tale(runs, granted(1, "Admitted"), first(), first(fenced, deleted), second()), queueOf(4, "1"), ""},
		"pods of a job that names a queue later":         {tale(version(), first(), runs, resting, gone("p-worker-0"), granted(0)), queueOf(4, "0"), ""},
		"quota that is borrowed":                         {tale(runs, admitted, first(), second()), borrowing(queueOf(1, "2")), ""},

		"quota that is free while a pod holds GPUs":     {tale(runs, admitted, first(), granted(0)), queueOf(4, "0"), "covered: pods of p hold 1, and it has quota for 0, at revision 4"},
		"quota that is free while a pod ends":           {tale(runs, admitted, first(), first(deleted), granted(0), gone("p-worker-0")), queueOf(4, "0"), "covered"},
		"a Workload deleted under its pods":             {tale(runs, admitted, first(), lost(admitted)), queueOf(4, "0"), "covered"},
		"a Workload deactivated under its pods":         {tale(runs, admitted, first(), inactive(admitted)), queueOf(4, "0"), "covered"},
		"a Workload finished before the last pod":       {tale(runs, admitted, first(), granted(2, "Finished")), queueOf(4, "0"), "covered"},
		"a pod without any Workload":                    {tale(runs, first()), queueOf(4, "0"), "covered"},
		"a pod before its quota":                        {tale(runs, first(), admitted), queueOf(4, "2"), "covered"},
		"more pods than quota, for a moment":            {tale(runs, granted(1, "Admitted"), first(), second(), gone("p-worker-1")), queueOf(4, "1"), "covered: pods of p hold 2, and it has quota for 1"},
		"a pod that is fenced and goes on":              {tale(runs, granted(1, "Admitted"), first(), first(fenced), second()), queueOf(4, "1"), "covered"},
		"pods of a late label that get a Workload":      {tale(version(), first(), runs, granted(0)), queueOf(4, "0"), "covered"},
		"a pod whose gate is gone before its quota":     {tale(runs, first(gated), first(), admitted), queueOf(4, "2"), "covered"},
		"more pods than the queue has quota for":        {tale(runs, admitted, first(), second()), queueOf(1, "2"), "exceeded: all pods hold 2 of 1, at revision 4"},
		"quota after the last pod of a job that rests":  {tale(runs, admitted, first(), resting, gone("p-worker-0")), queueOf(4, "2"), "given back"},
		"quota after the last pod of a job that ended":  {tale(runs, admitted, first(), done, gone("p-worker-0")), queueOf(4, "2"), "given back"},
		"quota after the end of the job":                {tale(runs, admitted, lost(runs)), queueOf(4, "2"), "given back"},
		"quota counted for a pod that stays gated":      {tale(runs, admitted, first(gated)), queueOf(4, "2"), "gated: p-worker-0"},
		"a ClusterQueue that counts more than it has":   {tale(runs, admitted, first()), queueOf(4, "3"), "agreed: the ClusterQueue has reserved 3, and its Workloads have quota for 2"},
		"a ClusterQueue that counts less than it gives": {tale(runs, admitted, first()), queueOf(4, "0"), "agreed"},
	} {
		t.Run(name, func(t *testing.T) {
			broken := strings.Join(ledger.Quota(c.history, c.cluster, gpu), "\n")
			if (c.want == "" && broken != "") || !strings.Contains(broken, c.want) {
				t.Errorf("want %q broken, found:\n%s", c.want, broken)
			}
		})
	}
}

// holding returns versions of a pod with a GPU.
func holding(name string) func(...func(*corev1.Pod)) ledger.Observation {
	return func(how ...func(*corev1.Pod)) ledger.Observation {
		o := pod(name, how...)
		o.Pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{gpu: resource.MustParse("1")}
		return o
	}
}

func failing(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }

func gated(p *corev1.Pod) {
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/topology"}}
}

// inQueue is a version of the job with a label that names a queue.
func inQueue(isSuspended bool) ledger.Observation {
	o := version()
	o.Job.Labels, o.Job.Spec.Suspend = map[string]string{v1alpha1.LabelQueue: "q"}, ptr.To(isSuspended)
	return o
}

// done is the version of the job that has ended.
var done = func() ledger.Observation {
	o := inQueue(false)
	finished(&o.Job.Status)
	return o
}()

// granted is a version of the job's Workload with so much quota, and these conditions.
func granted(gpus int, conditions ...string) ledger.Observation {
	w := &unstructured.Unstructured{Object: map[string]any{"kind": "Workload"}}
	w.SetName("trainingjob-p")
	w.SetUID("the-workload")
	w.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(version().Job, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))})
	status := map[string]any{}
	if gpus > 0 {
		usage := map[string]any{string(gpu): resource.NewQuantity(int64(gpus), resource.DecimalSI).String()}
		status["admission"] = map[string]any{"podSetAssignments": []any{map[string]any{"resourceUsage": usage}}}
	}
	all := []any{}
	for _, c := range conditions {
		all = append(all, map[string]any{"type": c, "status": "True"})
	}
	status["conditions"], w.Object["status"] = all, status
	return ledger.Observation{Workload: w}
}

// inactive is a version of the Workload that has been deactivated.
func inactive(o ledger.Observation) ledger.Observation {
	o.Workload = o.Workload.DeepCopy()
	o.Workload.Object["spec"] = map[string]any{"active": false}
	return o
}

// lost is the deletion of the object.
func lost(o ledger.Observation) ledger.Observation {
	o.Event = watch.Deleted
	return o
}

// queueOf returns a ClusterQueue with a quota and a reservation.
func queueOf(nominal int64, reserved string) *unstructured.Unstructured {
	resources := func(key string, value any) []any {
		return []any{map[string]any{"resources": []any{map[string]any{"name": string(gpu), key: value}, map[string]any{"name": "cpu", key: "96"}}}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"spec":   map[string]any{"resourceGroups": []any{map[string]any{"flavors": resources("nominalQuota", nominal)}}},
		"status": map[string]any{"flavorsReservation": resources("total", reserved)},
	}}
}

func borrowing(cluster *unstructured.Unstructured) *unstructured.Unstructured {
	cluster.Object["spec"].(map[string]any)["cohortName"] = "all"
	return cluster
}
