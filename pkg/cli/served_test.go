package cli

import (
	"context"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// pytorchJob returns a PyTorchJob with two workers, changed.
func pytorchJob(name string, change func(map[string]any)) *unstructured.Unstructured {
	content := map[string]any{
		"metadata": map[string]any{"name": name, "namespace": "team-a", "uid": "kubeflow-" + name},
		"spec":     map[string]any{"pytorchReplicaSpecs": map[string]any{"Worker": map[string]any{"replicas": int64(2)}}},
	}
	if change != nil {
		change(content)
	}
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(v1alpha1.KubeflowVersion, "PyTorchJob"))
	return o
}

// ended returns a change to a job with one condition.
func ended(kind, reason, message string) func(map[string]any) {
	return func(job map[string]any) {
		job["status"] = map[string]any{"conditions": []any{map[string]any{"type": kind, "status": "True", "reason": reason, "message": message}}}
	}
}

// runningServed returns a PyTorchJob that runs, the TrainingJob that serves it, and its pods, which both own.
func runningServed(name string, options ...builder.JobOption) (*v1alpha1.TrainingJob, []client.Object) {
	served := pytorchJob(name, nil)
	job, objects := running(name, 2, options...)
	owner := *metav1.NewControllerRef(served, served.GroupVersionKind())
	job.OwnerReferences = []metav1.OwnerReference{owner}
	for _, pod := range objects[1:] {
		refs := pod.GetOwnerReferences()
		refs[0].Controller = nil
		pod.SetOwnerReferences(append([]metav1.OwnerReference{owner}, refs...))
	}
	return job, append(objects, served)
}

// A Kubeflow job has the names that kubectl takes, wherever a name of a job is taken.
func TestTheKindOfAKubeflowJobBeforeItsName(t *testing.T) {
	for line, want := range map[string]string{
		"status pytorchjob/mnist":                    "pytorchjob/mnist: Running, 2/2 ready",
		"status mnist":                               "worker-1   Running",
		"why PyTorchJob/mnist":                       "pytorchjob/mnist runs (AllReplicasRunning)",
		"timeline pytorchjobs/mnist":                 "pytorchjob/mnist: Running",
		"report pytorchjobs.kubeflow.org/mnist":      "<html",
		"list":                                       "pytorchjob/mnist   Running",
		"list pytorchjob/mnist":                      "pytorchjob/mnist   Running",
		"logs pytorchjob.kubeflow.org/mnist -c nope": "container nope is not valid for pod mnist-worker-0",
		"plan pytorchjobs.v1.kubeflow.org/mnist":     "mnist",
		"suspend pytorchjob/mnist":                   "pytorchjob/mnist suspended",
		"resume mnist":                               "pytorchjob/mnist is resumed already",
		"restart pytorchjob/mnist":                   "pytorchjob/mnist restarts: the whole job",
		"restart pytorchjob/mnist worker-1":          "pytorchjob/mnist restarts: worker-1",
		"delete pytorchjob/mnist":                    "pytorchjob/mnist deleted",
		"__complete status ":                         "mnist\tRunning\npytorchjob/mnist\tRunning\n",
		"__complete status pytorchjobs/":             "pytorchjobs/mnist\tRunning\n",
		"__complete status tj/m":                     "tj/mnist\tRunning\n",
		"__complete status tfjob/":                   ":",
		"status tfjob/mnist":                         "there is no TFJob mnist in namespace team-a",
		"status mpijob/mnist":                        "serves no MPIJob",
		"status pytorchjob/":                         "write its name, tj/NAME or pytorchjob/NAME",
		"submit pytorchjob/x --image i --dry-run":    "kubectl apply -f FILE",
	} {
		_, objects := runningServed("mnist")
		s := newStage(interceptor.Funcs{}, objects...)
		s.run(t.Context(), strings.Split(line, " "))
		if said := s.out.String() + s.err.String(); !strings.Contains(said, want) {
			t.Errorf("%s: said %q, want %q", line, said, want)
		}
	}
}

// What steers a served job changes the Kubeflow job, by its UID, and leaves the TrainingJob to the operator.
func TestSteeringChangesTheKubeflowJob(t *testing.T) {
	for line, want := range map[string]string{
		"suspend mnist":                       `{"metadata":{"uid":"kubeflow-mnist"},"spec":{"runPolicy":{"suspend":true}}}`,
		"scale pytorchjob/mnist --replicas 4": `{"metadata":{"uid":"kubeflow-mnist"},"spec":{"pytorchReplicaSpecs":{"Worker":{"replicas":4}}}}`,
		"restart mnist":                       `{"metadata":{"annotations":{"trainingjob.dev/restart":"`,
		"delete mnist":                        "delete kubeflow-mnist",
	} {
		t.Run(line, func(t *testing.T) {
			var did []string
			_, objects := runningServed("mnist", builder.Elastic(2, 8))
			s := newStage(interceptor.Funcs{
				Patch: func(_ context.Context, _ client.WithWatch, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
					text, err := patch.Data(o)
					if _, isKubeflows := o.(*unstructured.Unstructured); !isKubeflows {
						t.Errorf("%T is patched", o)
					}
					did = append(did, string(text))
					return err
				},
				Delete: func(_ context.Context, _ client.WithWatch, o client.Object, options ...client.DeleteOption) error {
					made := (&client.DeleteOptions{}).ApplyOptions(options)
					did = append(did, "delete "+string(ptr.Deref(made.Preconditions.UID, types.UID(""))))
					return nil
				},
			}, objects...)
			if status := s.run(t.Context(), strings.Fields(line)); status != 0 || len(did) != 1 || !strings.HasPrefix(did[0], want) {
				t.Errorf("status %d, did %q, want %q; said %s", status, did, want, s.err)
			}
		})
	}
}

// A Kubeflow job without a TrainingJob has a cause, and the sentence has the next step.
func TestWhyAKubeflowJobIsNotServed(t *testing.T) {
	former := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "mnist-worker-0", Labels: map[string]string{"training.kubeflow.org/job-name": "mnist"}}}
	former.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pytorchJob("mnist", nil), schema.FromAPIVersionAndKind(v1alpha1.KubeflowVersion, "PyTorchJob"))}
	warning := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "e"}, Type: corev1.EventTypeWarning, Reason: "Odd", Message: "It rains.",
		InvolvedObject: corev1.ObjectReference{UID: "kubeflow-mnist"}, LastTimestamp: builder.Time(0),
	}
	foreign, _ := running("mnist", 1)
	ofTFJob, _ := running("mnist", 1)
	ofTFJob.OwnerReferences = []metav1.OwnerReference{{APIVersion: "kubeflow.org/v1", Kind: "TFJob", Name: "mnist", UID: "tf", Controller: ptr.To(true)}}
	serving := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "trainingjob-system", Name: "o", Labels: map[string]string{"app.kubernetes.io/name": "trainingjob-operator"}}}
	serving.Spec.Template.Spec.Containers = []corev1.Container{{Args: []string{"--kubeflow-kinds=TFJob,PyTorchJob"}}}
	young := pytorchJob("mnist", nil)
	young.SetCreationTimestamp(metav1.Now())
	managed := func(job map[string]any) {
		job["spec"] = map[string]any{"runPolicy": map[string]any{"managedBy": "kueue.x-k8s.io/multikueue"}}
	}
	for name, c := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"no operator serves it":       {[]client.Object{pytorchJob("mnist", nil)}, "has no TrainingJob, so no operator serves it: kubectl tj doctor shows the served kinds. An administrator adds PyTorchJob to --kubeflow-kinds"},
		"an operator should serve it": {[]client.Object{pytorchJob("mnist", nil), serving}, "has no TrainingJob, although --kubeflow-kinds of the operator names its kind"},
		"a job of this moment":        {[]client.Object{young}, "was created a moment ago and has no TrainingJob yet: try again."},
		"a warning":                   {[]client.Object{pytorchJob("mnist", nil), warning}, "has no TrainingJob. Its latest Event: Odd: It rains."},
		"managed elsewhere":           {[]client.Object{pytorchJob("mnist", managed)}, "is run by kueue.x-k8s.io/multikueue (spec.runPolicy.managedBy), not by this operator."},
		"refused":                     {[]client.Object{pytorchJob("mnist", ended("Failed", "PyTorchJobFailedValidation", "no role"))}, "was refused: no role. Correct that, delete the job and create it again."},
		"ended":                       {[]client.Object{pytorchJob("mnist", ended("Succeeded", "PyTorchJobSucceeded", "done"))}, "has ended, and no TrainingJob has its history: done."},
		"a name that another one has": {[]client.Object{pytorchJob("mnist", nil), foreign}, "PyTorchJob mnist is not served: TrainingJob mnist has its name. Give one of them another name."},
		"a name of another kind":      {[]client.Object{pytorchJob("mnist", nil), ofTFJob}, "PyTorchJob mnist is not served: TFJob mnist has its name. Give one of them another name."},
		"pods of Kubeflow's operator": {[]client.Object{pytorchJob("mnist", nil), former}, "has pods that no TrainingJob owns, such as mnist-worker-0"},
		"a misspelling":               {[]client.Object{pytorchJob("mnits", nil)}, "did you mean pytorchjob/mnits?"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(interceptor.Funcs{}, c.objects...)
			if status := s.run(t.Context(), []string{"why", "pytorchjob/mnist"}); status != 1 || !strings.Contains(s.err.String(), c.want) || strings.Count(s.err.String(), "\n") != 1 {
				t.Errorf("status %d, said %q, want %q", status, s.err, c.want)
			}
		})
	}
}

// The advice names the Kubeflow job as what to edit, and the annotation for fields that it does not have.
func TestAdviceForAServedJobIsAboutTheKubeflowJob(t *testing.T) {
	oom := builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.Phase, s.Reason = v1alpha1.PhaseFailed, v1alpha1.ReasonSchedulingTimeout
		s.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFailed, Status: metav1.ConditionTrue}}
		s.LastFailure = &v1alpha1.Failure{Role: v1alpha1.Worker, Pod: "mnist-worker-0", Cause: v1alpha1.CauseOOM, Reason: "OOMKilled", ExitCode: ptr.To[int32](137), Time: builder.Time(0)}
	})
	_, objects := runningServed("mnist", oom)
	s := newStage(interceptor.Funcs{}, objects...)
	if status := s.run(t.Context(), []string{"why", "mnist"}); status != 0 {
		t.Fatal(s.err.String())
	}
	for _, want := range []string{
		"kubectl tj suspend -n team-a pytorchjob/mnist, kubectl edit pytorchjob -n team-a mnist, kubectl tj resume -n team-a pytorchjob/mnist",
		"A PyTorchJob that has finished does not start again. Correct the cause, delete the job and create it again: kubectl delete pytorchjob -n team-a mnist, kubectl create -f FILE",
		`A PyTorchJob has no field scheduling.timeoutSeconds. Convert the job to a TrainingJob: kubectl tj convert -n team-a --from-cluster pytorchjob/mnist`,
	} {
		if !strings.Contains(s.out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, s.out)
		}
	}
	if slices.ContainsFunc([]string{"edit tj", "NAME"}, func(text string) bool { return strings.Contains(s.out.String(), text) }) {
		t.Errorf("said\n%s", s.out)
	}
}

// A change that the TrainingJob cannot follow, and the queue of a suspended Kubeflow job, are part of its story.
func TestTheStoryHasWhatTheKubeflowJobAloneShows(t *testing.T) {
	_, objects := runningServed("mnist", builder.Suspended(), builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.Phase = v1alpha1.PhaseSuspended }))
	for _, o := range objects {
		if job, isKubeflows := o.(*unstructured.Unstructured); isKubeflows {
			job.SetLabels(map[string]string{"kueue.x-k8s.io/queue-name": "vision"})
		}
	}
	const noService = `creating Service mnist-worker-1: services "mnist-worker-1" is forbidden: exceeded quota: team-a`
	for reason, message := range map[string]string{
		"ChangeRefused": "minAvailable may not change.", "QuotaExceeded": noService, "PyTorchJobRestarting": "PyTorchJob mnist is restarting.",
	} {
		objects = append(objects, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: strings.ToLower(reason)}, Type: corev1.EventTypeWarning, Reason: reason, Message: message,
			InvolvedObject: corev1.ObjectReference{UID: "kubeflow-mnist"}, LastTimestamp: builder.Time(0),
		})
	}
	s := newStage(interceptor.Funcs{}, objects...)
	s.run(t.Context(), []string{"why", "mnist"})
	for _, want := range []string{
		"Event ChangeRefused, 10m ago: minAvailable may not change.", "Event QuotaExceeded, 10m ago: " + noService, "localqueues.kueue.x-k8s.io -n team-a vision",
	} {
		if !strings.Contains(s.out.String(), want) {
			t.Errorf("it does not say %q:\n%s%s", want, s.out, s.err)
		}
	}
	if strings.Contains(s.out.String(), "PyTorchJobRestarting") {
		t.Errorf("it repeats a condition:\n%s", s.out)
	}
}

// A JobSet and its TrainJob both name the TrainingJob that serves the JobSet.
func TestTheKindOfAJobSetBeforeItsName(t *testing.T) {
	trainJob := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "mnist", "namespace": "team-a", "uid": "train"}, "spec": map[string]any{}}}
	trainJob.SetGroupVersionKind(schema.GroupVersionKind{Group: "trainer.kubeflow.org", Version: "v1alpha1", Kind: "TrainJob"})
	set := func(manager string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "mnist", "namespace": "team-a", "uid": "set"}, "spec": map[string]any{"managedBy": manager},
		}}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"})
		o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(trainJob, trainJob.GroupVersionKind())})
		return o
	}
	noRuntime := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "none"}, Type: corev1.EventTypeWarning, Reason: "NoRuntime", Message: "There is none.",
		InvolvedObject: corev1.ObjectReference{UID: "train"}, LastTimestamp: builder.Time(0),
	}
	failed := trainJob.DeepCopy()
	failed.SetName("failed")
	failed.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "DeadlineExceeded"}}}
	job, objects := running("mnist", 2)
	own := set("trainingjob.dev/operator")
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(own, own.GroupVersionKind())}
	served := slices.Concat(objects, []client.Object{own, trainJob})
	first, objects := running("mnist-data", 1) // a step comes before the TrainingJob of the JobSet's name
	first.OwnerReferences = job.OwnerReferences
	step := slices.Concat(objects, []client.Object{own, trainJob})
	for line, c := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"why trainjob/mnist":                                {served, "jobset/mnist runs (AllReplicasRunning)"},
		"status jobset/mnist":                               {served, "jobset/mnist: Running, 2/2 ready"},
		"why JobSets.jobset.x-k8s.io/mnist":                 {served, "jobset/mnist runs"},
		"suspend trainjob/mnist":                            {served, "trainjob/mnist suspended"},
		"why trainjobs.v1alpha1.trainer.kubeflow.org/mnist": {served, "jobset/mnist runs"},
		"why trainjob/mnits":                                {served, "did you mean trainjob/mnist?"},
		"why trainjobs/mnist":                               {step, "jobset/mnist-data runs (AllReplicasRunning)"},
		"suspend jobset/mnist":                              {step, "trainjob/mnist suspended"},
		"restart trainjob/mnist":                            {[]client.Object{trainJob}, "TrainJob mnist has no JobSet: Trainer's controller makes one from its runtime"},
		"delete trainjob/mnist":                             {[]client.Object{trainJob, noRuntime}, "TrainJob mnist has no JobSet. Its latest Event: NoRuntime: There is none."},
		"why trainjob/failed":                               {[]client.Object{failed}, "TrainJob failed has ended, and no TrainingJob has its history: DeadlineExceeded."},
		"logs trainjob/mnist":                               {[]client.Object{set("trainingjob.dev/operator"), trainJob}, "JobSet mnist has no TrainingJob, so no operator serves it"},
		"why jobset/mnist":                                  {[]client.Object{set("trainingjob.dev/operator"), trainJob}, "an administrator starts the operator with --jobsets"},
		"status trainjob/mnist":                             {[]client.Object{set("jobset.sigs.k8s.io/jobset-controller"), trainJob}, "spec.managedBy is not trainingjob.dev/operator"},
	} {
		s := newStage(interceptor.Funcs{}, c.objects...)
		s.run(t.Context(), strings.Split(line, " "))
		if shown := s.out.String() + s.err.String(); !strings.Contains(shown, c.want) {
			t.Errorf("%s: %q, want %q", line, shown, c.want)
		}
	}
}
