package serve

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

const elasticJob = `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: j, namespace: ns, uid: u}
spec:
  elasticPolicy: {minReplicas: 1, maxReplicas: 2}
  pytorchReplicaSpecs:
    Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: i}]}}}
`

// pod returns a pod of Kubeflow's operator as "master-0 Failed 137", with options behind it: the seconds of its creation and "going".
func formerPod(text string) corev1.Pod {
	words := strings.Fields(text)
	role, index, _ := strings.Cut(words[0], "-")
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "j-" + words[0], CreationTimestamp: metav1.NewTime(start),
			Labels: map[string]string{"training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": index},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPhase(words[1])},
	}
	for _, word := range words[2:] {
		switch word {
		case "1", "137":
			code := map[string]int32{"1": 1, "137": 137}[word]
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(start.Add(time.Minute))},
			}}}
		case "newer":
			pod.CreationTimestamp = metav1.NewTime(start.Add(time.Second))
		case "going":
			pod.DeletionTimestamp = &pod.CreationTimestamp
		}
	}
	return pod
}

// The wanted fates come from the controllers of Training Operator 1.9.4, pkg/controller.v1; but for what replaces pods, which nothing did.
func TestTheFateOfInheritedPods(t *testing.T) {
	policy := func(manifest, name string) string {
		return strings.ReplaceAll(manifest, "{replicas:", "{restartPolicy: "+name+", replicas:")
	}
	without := strings.Replace(pytorchJob, "    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: i}]}}}\n", "", 1)
	for name, c := range map[string]struct {
		manifest string
		pods     string
		after    time.Duration
		want     fate
	}{
		"they run":                             {pytorchJob, "master-0 Running, worker-0 Running, worker-1 Running", time.Hour, goOn},
		"they wait for nodes":                  {pytorchJob, "master-0 Pending, worker-0 Pending, worker-1 Pending", time.Hour, goOn},
		"the master has succeeded":             {pytorchJob, "master-0 Succeeded, worker-0 Running, worker-1 Failed 1", 0, succeed},
		"a worker beside a master":             {pytorchJob, "master-0 Running, worker-0 Succeeded, worker-1 Succeeded", time.Hour, goOn},
		"all workers":                          {without, "worker-0 Succeeded, worker-1 Succeeded", 0, succeed},
		"one of all workers":                   {without, "worker-0 Running, worker-1 Succeeded", time.Hour, goOn},
		"any worker of an elastic job":         {elasticJob, "worker-0 Running, worker-1 Succeeded", 0, succeed},
		"worker 0 of a TFJob":                  {tfJob, "worker-0 Succeeded, worker-1 Running, ps-0 Running", 0, succeed},
		"a failure under Never":                {policy(pytorchJob, "Never"), "master-0 Running, worker-0 Failed 137, worker-1 Running", 0, fail},
		"a permanent failure under ExitCode":   {policy(pytorchJob, "ExitCode"), "master-0 Running, worker-0 Failed 1, worker-1 Running", 0, fail},
		"another controller may act on it":     {policy(pytorchJob, "ExitCode"), "master-0 Running, worker-0 Failed 137, worker-1 Running", 80 * time.Second, goOn},
		"a retryable failure under ExitCode":   {policy(pytorchJob, "ExitCode"), "master-0 Running, worker-0 Failed 137, worker-1 Running", 90 * time.Second, replace},
		"a missing pod":                        {pytorchJob, "master-0 Running, worker-0 Running", 30 * time.Second, replace},
		"a missing pod, a moment ago":          {pytorchJob, "master-0 Running, worker-0 Running", 29 * time.Second, goOn},
		"a pod that goes has no verdict":       {policy(pytorchJob, "Never"), "master-0 Running, worker-0 Failed 137 going, worker-1 Running", 0, goOn},
		"success after the deletion is none":   {pytorchJob, "master-0 Succeeded going, worker-0 Running, worker-1 Running", 0, goOn},
		"a failed pod of an earlier life":      {policy(pytorchJob, "Never"), "master-0 Running, worker-0 Failed 1, worker-0 Running newer, worker-1 Running", time.Hour, goOn},
		"an elastic job has fewer workers":     {elasticJob, "worker-1 Running", time.Hour, goOn},
		"an elastic job has too few workers":   {strings.Replace(elasticJob, "minReplicas: 1", "minReplicas: 2", 1), "worker-1 Running", time.Hour, replace},
		"the job is suspended":                 {pytorchJob + "  runPolicy: {suspend: true}\n", "master-0 Running, worker-0 Running, worker-1 Running", 0, replace},
		"the deadline is over":                 {pytorchJob + "  runPolicy: {activeDeadlineSeconds: 60}\n", "master-0 Running, worker-0 Running, worker-1 Running", 61 * time.Second, fail},
		"a chief that the TFJob calls Master":  {strings.Replace(tfJob, "PS:", "Master:", 1), "master-0 Succeeded, worker-0 Running, worker-1 Running", 0, succeed},
		"a role that the job does not have":    {pytorchJob, "master-0 Running, worker-0 Running, worker-1 Running, ps-0 Failed 1", time.Hour, goOn},
		"a worker that is beyond the replicas": {pytorchJob, "master-0 Running, worker-0 Running, worker-1 Running, worker-2 Failed 1", time.Hour, goOn},
	} {
		t.Run(name, func(t *testing.T) {
			job := read(t, c.manifest)
			job.Status.StartTime = &metav1.Time{Time: start}
			served, err := job.Serve()
			if err != nil {
				t.Fatal(err)
			}
			var pods []corev1.Pod
			for _, text := range strings.Split(c.pods, ", ") {
				pods = append(pods, formerPod(text))
			}
			inherited := job.inherit(served, pods, start.Add(c.after))
			if got, why := inherited.fate(); got != c.want {
				t.Errorf("the fate is %d %q, want %d", got, why, c.want)
			}
		})
	}
}

// The cache holds no object that Kubeflow's operator created.
func TestNoReadWaitsForTheDeletionOfAnInheritedObject(t *testing.T) {
	job := read(t, withTwoWorkers)
	pod := formerPod("master-0 Running")
	owner := metav1.NewControllerRef(job.source, job.kind.GroupVersionKind())
	meta := metav1.ObjectMeta{
		Name: "j-master-0", Namespace: "ns", UID: "former", OwnerReferences: []metav1.OwnerReference{*owner}, Labels: map[string]string{"training.kubeflow.org/job-name": "j"},
	}
	pod.ObjectMeta = meta
	r, _ := reconcilerOf(t, job, &pod, &corev1.Service{ObjectMeta: meta})
	deleted := 0
	r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			deleted++
			if !(&client.DeleteOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency {
				t.Errorf("reads wait until the cache shows that %T %s is gone, and the cache does not have it", o, o.GetName())
			}
			return c.Delete(ctx, o, options...)
		},
	})
	err := r.deletePods(t.Context(), []corev1.Pod{pod}, v1alpha1.CleanAll)
	if err := errors.Join(err, r.deleteServices(t.Context(), job)); err != nil || deleted != 2 {
		t.Errorf("%d objects are deleted, want 2: %v", deleted, err)
	}
}

// Kubeflow's operator wrote the status at that second, and the TrainingJob began at second 10.
func TestAnotherWriterOfTheStatus(t *testing.T) {
	for name, c := range map[string]struct {
		manager, subresource string
		at                   int
		isFinished           bool
		want                 string
	}{
		"before the TrainingJob began": {"training-operator", "status", 9, false, ""},
		"in the same second":           {"training-operator", "status", 10, false, ""},
		"after it":                     {"training-operator", "status", 11, false, "training-operator"},
		"after its end":                {"training-operator", "status", 11, true, ""},
		"not the status":               {"kubectl", "", 11, false, ""},
		"this operator":                {"trainingjob-operator-kubeflow", "status", 11, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			job := read(t, pytorchJob)
			at := metav1.NewTime(start.Add(time.Duration(c.at) * time.Second))
			job.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: c.manager, Subresource: c.subresource, Time: &at}}
			served, err := job.Serve()
			if err != nil {
				t.Fatal(err)
			}
			child := served.Child.DeepCopy()
			child.CreationTimestamp = metav1.NewTime(start.Add(10 * time.Second))
			if c.isFinished {
				child.Status.Conditions = append(child.Status.Conditions, is("Finished", ""))
			}
			if got := job.rival(child); got != c.want {
				t.Errorf("%q also serves the job, want %q", got, c.want)
			}
		})
	}
}
