package cli

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// workloadOf returns the Workload that Kueue makes for the PyTorchJob, with a hash in its name, and these conditions.
func workloadOf(name string, active bool, conditions ...any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "pytorchjob-" + name + "-0b1c2", "namespace": "team-a", "uid": "workload-" + name},
		"spec":     map[string]any{"queueName": "vision", "active": active},
		"status":   map[string]any{"conditions": conditions},
	}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "Workload"})
	o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(pytorchJob(name, nil), schema.FromAPIVersionAndKind(v1alpha1.KubeflowVersion, "PyTorchJob"))})
	return o
}

func condition(kind, status, reason, message string) any {
	return map[string]any{"type": kind, "status": status, "reason": reason, "message": message}
}

// queued returns a PyTorchJob with a queue label, its TrainingJob and its Workload; suspended unless Kueue has admitted it.
func queued(isAdmitted bool, workload *unstructured.Unstructured) []client.Object {
	var options []builder.JobOption
	if !isAdmitted {
		options = []builder.JobOption{builder.Suspended(), builder.Status(func(s *v1alpha1.TrainingJobStatus) {
			s.Phase, s.Reason, s.Message = v1alpha1.PhaseSuspended, v1alpha1.ReasonSuspended, "The job is suspended: its spec has suspend: true."
		})}
	}
	_, objects := runningServed("mnist", options...)
	for _, o := range objects {
		if job, isKubeflows := o.(*unstructured.Unstructured); isKubeflows {
			job.SetLabels(map[string]string{"kueue.x-k8s.io/queue-name": "vision"})
			_ = unstructured.SetNestedField(job.Object, !isAdmitted, "spec", "runPolicy", "suspend")
		}
	}
	return append(objects, workload, workloadOf("other", false, condition("QuotaReserved", "False", "Pending", "of another job")))
}

var (
	admittedByKueue  = condition("Admitted", "True", "Admitted", "")
	noQuota          = condition("QuotaReserved", "False", "Pending", "insufficient unused quota for nvidia.com/gpu")
	suspendedByUser  = condition("Evicted", "True", "Deactivated", "The workload is deactivated")
	givenUp          = condition("Evicted", "True", "DeactivatedDueToRequeuingLimitExceeded", "gone")
	givenUpsMessage  = condition("QuotaReserved", "False", "Pending", "The workload is deactivated due to exceeding the maximum number of re-queuing retries")
	reserved         = condition("QuotaReserved", "True", "QuotaReserved", "")
	isServedSuspend  = "pytorchjob/mnist suspended\n"
	isServedResume   = "pytorchjob/mnist resumed: it waits in queue vision until Kueue admits it\n"
	isServedOfBefore = "pytorchjob/mnist is suspended already\n"
)

// Kueue starts a Kubeflow job again that is suspended while its Workload is admitted and active.
func TestASuspendedKubeflowJobOfAQueueStopsByItsWorkload(t *testing.T) {
	for name, c := range map[string]struct {
		isAdmitted bool
		workload   *unstructured.Unstructured
		verb       string
		says       string
		// isActive is what the Workload is afterwards; isGone whether it is deleted.
		isActive, isGone bool
	}{
		"a running job is suspended":             {true, workloadOf("mnist", true, reserved, admittedByKueue), "suspend", isServedSuspend, false, false},
		"a waiting job is suspended":             {false, workloadOf("mnist", true, noQuota), "suspend", isServedSuspend, false, false},
		"a suspended job is suspended":           {false, workloadOf("mnist", false, suspendedByUser), "suspend", isServedOfBefore, false, false},
		"a suspended job is resumed":             {false, workloadOf("mnist", false, suspendedByUser), "resume", isServedResume, true, false},
		"a job that waits is resumed":            {false, workloadOf("mnist", true, noQuota), "resume", "pytorchjob/mnist is resumed already\n", true, false},
		"a job that Kueue has given up, resumed": {false, workloadOf("mnist", false, givenUp, givenUpsMessage), "resume", isServedResume, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(interceptor.Funcs{}, queued(c.isAdmitted, c.workload)...)
			if status := s.run(t.Context(), []string{c.verb, "pytorchjob/mnist"}); status != 0 || s.out.String() != c.says {
				t.Errorf("status %d, printed %q, %s; want %q", status, s.out, s.err, c.says)
			}
			after := workloadOf("mnist", false)
			err := s.kube.Get(t.Context(), client.ObjectKeyFromObject(after), after)
			if apierrors.IsNotFound(err) != c.isGone {
				t.Fatalf("Workload: %v", err)
			}
			if active, _, _ := unstructured.NestedBool(after.Object, "spec", "active"); active != c.isActive {
				t.Errorf("the Workload is active: %v", active)
			}
			job := pytorchJob("mnist", nil)
			if err := s.kube.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil {
				t.Fatal(err)
			}
			if suspend, _, _ := unstructured.NestedBool(job.Object, "spec", "runPolicy", "suspend"); suspend == c.isAdmitted {
				t.Error("the PyTorchJob is changed: Kueue alone suspends and starts it")
			}
		})
	}
}

// Kueue ignores a kind that its configuration does not name. Then there is no Workload.
func TestASuspendedKubeflowJobWithoutAWorkloadStopsByItself(t *testing.T) {
	objects := queued(true, workloadOf("another", true))
	s := newStage(interceptor.Funcs{}, objects...)
	s.run(t.Context(), []string{"suspend", "mnist"})
	job := pytorchJob("mnist", nil)
	if err := s.kube.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil {
		t.Fatal(err)
	}
	if suspend, _, _ := unstructured.NestedBool(job.Object, "spec", "runPolicy", "suspend"); !suspend {
		t.Errorf("printed %s%s, and it is not suspended", s.out, s.err)
	}
}

func TestAWaitingKubeflowJobShowsTheMessageOfKueue(t *testing.T) {
	const quota = "The job waits in queue vision to be admitted: insufficient unused quota for nvidia.com/gpu"
	const paused = "it was suspended, and does not wait for quota until kubectl tj resume pytorchjob/mnist"
	const rejected = "admission check nodes is Rejected: no node of that kind"
	rejecting := workloadOf("mnist", true, reserved)
	_ = unstructured.SetNestedSlice(rejecting.Object, []any{map[string]any{"name": "nodes", "state": "Rejected", "message": "no node of that kind"}}, "status", "admissionChecks")
	for name, c := range map[string]struct {
		workload *unstructured.Unstructured
		message  string
		// next is what why offers, beside the message.
		next []string
	}{
		"there is no quota":        {workloadOf("mnist", true, noQuota), quota, []string{"localqueues.kueue.x-k8s.io -n team-a vision"}},
		"a check refuses it":       {rejecting, rejected, []string{"localqueues.kueue.x-k8s.io -n team-a vision"}},
		"a user has suspended it":  {workloadOf("mnist", false, suspendedByUser, noQuota), paused, []string{"Start it again: kubectl tj resume -n team-a pytorchjob/mnist"}},
		"Kueue has given it up":    {workloadOf("mnist", false, givenUp, givenUpsMessage), "deactivated due to exceeding", []string{"kubectl tj resume -n team-a pytorchjob/mnist"}},
		"Kueue has not looked yet": {workloadOf("mnist", true), "its spec has suspend: true", nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, line := range []string{"why mnist", "list -o wide", "list -A -o wide", "status pytorchjob/mnist"} {
				s := newStage(interceptor.Funcs{}, queued(false, c.workload)...)
				s.run(t.Context(), strings.Split(line, " "))
				want := slices.Concat([]string{c.message}, c.next)
				if !strings.HasPrefix(line, "why") {
					want = want[:1]
				}
				for _, text := range want {
					if !strings.Contains(s.out.String(), text) {
						t.Errorf("%s: no %q in\n%s%s", line, text, s.out, s.err)
					}
				}
			}
		})
	}
}
