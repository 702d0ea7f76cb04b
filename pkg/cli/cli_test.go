package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	corefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	tjschema "github.com/trainingjob/operator/pkg/cli/schema"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// stage is kubectl tj before a fake cluster.
type stage struct {
	*tool
	kube     client.WithWatch
	out, err *bytes.Buffer
}

// newStage returns kubectl tj before a cluster with these objects, whose requests pass through the interceptor.
func newStage(on interceptor.Funcs, objects ...client.Object) *stage {
	uid := func(o client.Object) []string {
		if e, is := o.(*corev1.Event); is {
			return []string{string(e.InvolvedObject.UID)}
		}
		return nil
	}
	kube := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(objects...).WithStatusSubresource(&v1alpha1.TrainingJob{}).
		WithIndex(&coordinationv1.Lease{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).
		WithIndex(&corev1.Event{}, "involvedObject.uid", uid).
		WithIndex(&v1alpha1.TrainingJob{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).WithInterceptorFuncs(on).Build()
	s := &stage{kube: kube, out: &bytes.Buffer{}, err: &bytes.Buffer{}}
	s.tool = &tool{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: s.out, ErrOut: s.err}, version: "test",
		screen: screenOf(s.out), now: func() time.Time { return builder.Epoch.Add(10 * time.Minute) },
		flags: genericclioptions.NewConfigFlags(true),
	}
	core := corefake.NewClientset()
	s.connect = func() (*connection, error) {
		return &connection{kube: kube, core: core, log: logsOf(core), stacks: proxiedStacks(core), discovery: core.Discovery(), namespace: "team-a"}, nil
	}
	return s
}

func podOf(job *v1alpha1.TrainingJob, i int, phase corev1.PodPhase) *corev1.Pod {
	pod := builder.Pod(job, state.Slot{Role: v1alpha1.Worker, Index: i}, state.Life{}, phase)
	pod.Namespace, pod.Labels = job.Namespace, map[string]string{v1alpha1.LabelJobUID: string(job.UID)}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
	return pod
}

func running(name string, workers int, options ...builder.JobOption) (*v1alpha1.TrainingJob, []client.Object) {
	job := builder.Job(name, append([]builder.JobOption{builder.Workers(workers), builder.RunsSince(0), builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.Phase, s.Ready, s.Message, s.Reason = v1alpha1.PhaseRunning, "2/2", "All replicas run.", v1alpha1.ReasonAllReplicasRunning
	})}, options...)...)
	objects := []client.Object{job}
	for i := range workers {
		objects = append(objects, podOf(job, i, corev1.PodRunning))
	}
	return job, objects
}

// A restart is one patch of the job: a text that names the user, and the replica if there is one. The operator does the rest.
func TestRestart(t *testing.T) {
	job, objects := running("mnist", 2)
	finished, _ := running("done", 1, builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.Phase = v1alpha1.PhaseSucceeded }))
	suspended := builder.Job("idle", builder.Workers(1), builder.Suspended())
	for _, c := range []struct {
		name      string
		args      []string
		want      string
		asks, end string
	}{
		{"the whole job", []string{"restart", "mnist", "--reason", "its loader hangs"}, "restarts: the whole job", "2026-", " with kubectl tj: its loader hangs"},
		{"one replica", []string{"restart", "mnist", "Worker-1"}, "restarts: worker-1 alone; no budget is charged", "worker-1: 2026-", " with kubectl tj"},
		{"an unknown one", []string{"restart", "mnist", "wroker-1"}, "did you mean worker-1?", "", ""},
		{"a number too large", []string{"restart", "mnist", "worker-9"}, "mnist has no replica worker-9: its replicas are worker-0 to worker-1", "", ""},
		{"a job that has finished", []string{"restart", "done"}, "submit it as another job", "", ""},
		{"a suspended job", []string{"restart", "idle"}, "kubectl tj resume -n team-a idle", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			refuse := func(o client.Object) error { return fmt.Errorf("it writes %T %s", o, o.GetName()) }
			s := newStage(interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
					return refuse(o)
				},
				Delete: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.DeleteOption) error {
					return refuse(o)
				},
			}, append(slices.Clone(objects), finished, suspended)...)
			status := s.run(t.Context(), c.args)
			if said := s.out.String() + s.err.String(); !strings.Contains(said, c.want) || (c.asks == "") != (status != 0) {
				t.Errorf("status %d, said %q, want %q", status, said, c.want)
			}
			var after v1alpha1.TrainingJob
			if err := s.kube.Get(t.Context(), client.ObjectKeyFromObject(job), &after); err != nil {
				t.Fatal(err)
			}
			words := after.Annotations["trainingjob.dev/restart"]
			if (words != "") != (c.asks != "") || !strings.HasPrefix(words, c.asks) || !strings.HasSuffix(words, c.end) {
				t.Errorf("the annotation is %q, want %q...%q", words, c.asks, c.end)
			}
		})
	}
}

func TestSuspendAndResume(t *testing.T) {
	job, objects := running("mnist", 1)
	s := newStage(interceptor.Funcs{}, objects...)
	for _, step := range []struct {
		verb, want string
		suspended  bool
	}{{"suspend", "suspended", true}, {"suspend", "suspended already", true}, {"resume", "resumed", false}} {
		s.out.Reset()
		if status := s.run(t.Context(), []string{step.verb, "mnist"}); status != 0 || !strings.Contains(s.out.String(), step.want) {
			t.Fatalf("%s: status %d, %q, %s", step.verb, status, s.out, s.err)
		}
		var now v1alpha1.TrainingJob
		if err := s.kube.Get(t.Context(), client.ObjectKeyFromObject(job), &now); err != nil || now.Spec.IsSuspended() != step.suspended {
			t.Errorf("after %s: suspended %t, %v", step.verb, now.Spec.IsSuspended(), err)
		}
	}
}

// Only the queue starts a job of a queue, so the user pauses it, whether it runs or waits. A resumed job carries the mark of one that waits: the
// adapter may not have seen its suspension.
func TestSuspendAndResumeInAQueue(t *testing.T) {
	queued := func(job *v1alpha1.TrainingJob) { job.Labels = map[string]string{v1alpha1.LabelQueue: "team-a"} }
	_, runs := running("runs", 1, queued)
	waits := builder.Job("waits", builder.Workers(1), builder.Suspended(), queued)
	s := newStage(interceptor.Funcs{}, append(runs, waits)...)
	for _, name := range []string{"runs", "waits"} {
		for _, step := range []struct {
			verb, want string
			paused     bool
		}{
			{"suspend", "suspended", true}, {"suspend", "suspended already", true},
			{"resume", "resumed: it waits in queue team-a until Kueue admits it", false}, {"resume", "resumed already", false},
		} {
			s.out.Reset()
			if status := s.run(t.Context(), []string{step.verb, name}); status != 0 || !strings.Contains(s.out.String(), step.want) {
				t.Fatalf("%s %s: status %d, %q, %s", step.verb, name, status, s.out, s.err)
			}
			var now v1alpha1.TrainingJob
			if err := s.kube.Get(t.Context(), client.ObjectKey{Namespace: waits.Namespace, Name: name}, &now); err != nil {
				t.Fatal(err)
			}
			if _, marked := now.Annotations[v1alpha1.AnnotationQueueResized]; marked != (step.verb == "resume") {
				t.Errorf("after %s %s: annotations %v", step.verb, name, now.Annotations)
			}
			if _, paused := now.Annotations[v1alpha1.AnnotationQueuePaused]; paused != step.paused || !now.Spec.IsSuspended() {
				t.Errorf("after %s %s: paused %t, suspended %t", step.verb, name, paused, now.Spec.IsSuspended())
			}
		}
	}
}

func TestScale(t *testing.T) {
	_, rigid := running("rigid", 2)
	_, elastic := running("elastic", 2, builder.Elastic(2, 8))
	for _, c := range []struct {
		args []string
		want string
		ok   bool
	}{
		{[]string{"scale", "elastic", "--replicas", "6"}, "from 2 to 6 workers", true},
		{[]string{"scale", "elastic", "--replicas", "9"}, "between 2 and 8 workers", false},
		{[]string{"scale", "rigid", "--replicas", "3"}, "is not elastic", false},
		{[]string{"scale", "elastic", "--replicas", "-1"}, "write a number from 0 on", false},
	} {
		s := newStage(interceptor.Funcs{}, append(slices.Clone(rigid), elastic...)...)
		status := s.run(t.Context(), c.args)
		if said := s.out.String() + s.err.String(); !strings.Contains(said, c.want) || c.ok != (status == 0) {
			t.Errorf("%v: status %d, %q, want %q", c.args, status, said, c.want)
		}
	}
}

func TestList(t *testing.T) {
	_, objects := running("mnist", 2)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"list"}, "NAME    PHASE     READY   RESTARTS   AGE   WHY\nmnist   Running   2/2     0          10m   AllReplicasRunning\n"},
		{[]string{"list", "-o", "name"}, "trainingjob.trainingjob.dev/mnist\n"},
		{[]string{"list", "-A", "-l", "a=b"}, ""},
	} {
		s := newStage(interceptor.Funcs{}, objects...)
		if status := s.run(t.Context(), c.args); status != 0 || s.out.String() != c.want {
			t.Errorf("%v: status %d\n%s%s, want\n%s", c.args, status, s.out, s.err, c.want)
		}
	}
}

// status --watch ends with the job, with its exit status, and says so if the job is deleted meanwhile.
func TestWatchEndsWithTheJob(t *testing.T) {
	code := int32(42)
	for _, c := range []struct {
		name   string
		end    func(context.Context, client.WithWatch, *v1alpha1.TrainingJob) error
		status int
		want   string
	}{
		{"success", func(ctx context.Context, k client.WithWatch, job *v1alpha1.TrainingJob) error {
			job.Status.Phase = v1alpha1.PhaseSucceeded
			return k.Status().Update(ctx, job)
		}, 0, "Succeeded"},
		{"failure", func(ctx context.Context, k client.WithWatch, job *v1alpha1.TrainingJob) error {
			job.Status.Phase, job.Status.LastFailure = v1alpha1.PhaseFailed, &v1alpha1.Failure{ExitCode: &code}
			return k.Status().Update(ctx, job)
		}, 42, "Failed"},
		{"deletion", func(ctx context.Context, k client.WithWatch, job *v1alpha1.TrainingJob) error {
			return k.Delete(ctx, job)
		},
			1, "deleted while it was watched"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job, objects := running("mnist", 2)
			s := newStage(interceptor.Funcs{}, objects...)
			shown := make(chan struct{})
			s.Out = &onFirstWrite{Writer: s.out, done: shown}
			ended := make(chan int)
			go func() { ended <- s.run(t.Context(), []string{"status", "mnist", "--watch"}) }()
			<-shown
			var now v1alpha1.TrainingJob
			if err := s.kube.Get(t.Context(), client.ObjectKeyFromObject(job), &now); err != nil {
				t.Fatal(err)
			}
			if err := c.end(t.Context(), s.kube, &now); err != nil {
				t.Fatal(err)
			}
			if status := <-ended; status != c.status || !strings.Contains(s.out.String()+s.err.String(), c.want) {
				t.Errorf("status %d, want %d; said\n%s%s", status, c.status, s.out, s.err)
			}
		})
	}
}

// onFirstWrite closes done with the first write.
type onFirstWrite struct {
	io.Writer
	done chan struct{}
	once bool
}

func (w *onFirstWrite) Write(p []byte) (int, error) {
	if !w.once {
		w.once = true
		close(w.done)
	}
	return w.Writer.Write(p)
}

// Every error of a cluster is a sentence with what to do.
func TestErrorsSayWhatToDo(t *testing.T) {
	jobs := schema.GroupResource{Group: v1alpha1.Group, Resource: "trainingjobs"}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"no CRD", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: v1alpha1.Group, Kind: v1alpha1.Kind}}, "install the CRD"},
		{"no permission", apierrors.NewForbidden(jobs, "", errors.New(`User "ann" cannot list resource "trainingjobs" in API group "trainingjob.dev" in the namespace "team-a"`)),
			"you may not list trainingjobs.trainingjob.dev in namespace team-a: ask an administrator for the ClusterRole trainingjob-view, "},
		{"no permission on pods", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New(`User "ann" cannot list resource "pods" in API group "" in the namespace "team-a"`)),
			"you may not list pods in namespace team-a: ask an administrator for the ClusterRole view, "},
		{"no permission anywhere", apierrors.NewForbidden(jobs, "", errors.New(`User "ann" cannot list resource "trainingjobs" in API group "trainingjob.dev" at the cluster scope`)), "in all namespaces"},
		{"a quota on jobs", apierrors.NewForbidden(jobs, "m", errors.New("exceeded quota: jobs, requested: count/trainingjobs.trainingjob.dev=1, used: 1, limited: 1")), "exceeded quota: jobs"},
		{"not logged in", apierrors.NewUnauthorized("no"), "log in again"},
		{"too busy", apierrors.NewTooManyRequests("slow down", 1), "too busy (429)"},
		{"no cluster", &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}, "does not answer"},
		{"no address", &net.DNSError{Err: "no such host", Name: "x"}, "address is not known"},
		{"no answer", context.DeadlineExceeded, "did not answer in time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return c.err }})
			if status := s.run(t.Context(), []string{"list"}); status != 1 || !strings.Contains(s.err.String(), c.want) || s.out.Len() > 0 {
				t.Errorf("status %d, said %q, want %q", status, s.err, c.want)
			}
		})
	}
}

func TestAnUnknownJob(t *testing.T) {
	_, objects := running("mnist", 1)
	for name, want := range map[string]string{"mnits": "did you mean mnist?", "bert-large": "kubectl tj list -n team-a"} {
		s := newStage(interceptor.Funcs{}, objects...)
		if status := s.run(t.Context(), []string{"why", name}); status != 1 || !strings.Contains(s.err.String(), want) {
			t.Errorf("status %d, said %q, want %q", status, s.err, want)
		}
	}
}

// Without a kubeconfig nothing is asked of anybody.
func TestNoKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	var out, err bytes.Buffer
	status := Run(t.Context(), genericiooptions.IOStreams{In: os.Stdin, Out: &out, ErrOut: &err}, "test", []string{"list"})
	if status != 1 || !strings.Contains(err.String(), "Set KUBECONFIG") {
		t.Errorf("status %d, said %q", status, err.String())
	}
}

// What submit prints from flags it takes back from a file.
func TestSubmitTakesWhatItPrints(t *testing.T) {
	s := newStage(interceptor.Funcs{})
	args := []string{"submit", "mnist", "--image", "train:1", "--workers", "3", "--gpus", "8", "--memory", "16Gi", "--env", "A=b=c", "--queue", "team", "--dry-run", "--", "python", "train.py"}
	if status := s.run(t.Context(), args); status != 0 {
		t.Fatal(s.err.String())
	}
	const warning = "No volume outlives a pod: after a restart this training begins at zero"
	if !strings.Contains(s.err.String(), warning) {
		t.Errorf("no warning: %s", s.err)
	}
	s.In = strings.NewReader(s.out.String())
	s.out.Reset()
	s.err.Reset()
	if status := s.run(t.Context(), []string{"submit", "-f", "-"}); status != 0 || !strings.Contains(s.err.String(), warning) || s.out.String() != "trainingjob/mnist created\n" {
		t.Fatalf("%s%s", s.out, s.err)
	}
	var job v1alpha1.TrainingJob
	if err := s.kube.Get(t.Context(), client.ObjectKey{Namespace: "team-a", Name: "mnist"}, &job); err != nil {
		t.Fatal(err)
	}
	c := job.Spec.ReplicaSpecs[v1alpha1.Worker].Template.Spec.Containers[0]
	gpus := c.Resources.Limits["nvidia.com/gpu"]
	if job.Spec.Replicas(v1alpha1.Worker) != 3 || job.Labels[v1alpha1.LabelQueue] != "team" || gpus.Value() != 8 || c.Env[0].Value != "b=c" || !slices.Equal(c.Command, []string{"python", "train.py"}) {
		t.Errorf("job %+v", job)
	}
	if status := s.run(t.Context(), append(slices.Clone(args[:4]), "--elastic", "2to3")); status != 1 || !strings.Contains(s.err.String(), "write MIN:MAX") {
		t.Errorf("status %d: %s", status, s.err)
	}
}

// A negative number is refused, not left out.
func TestSubmitRefusesNegativeNumbers(t *testing.T) {
	for _, flag := range []string{"--workers", "--ps", "--gpus"} {
		s := newStage(interceptor.Funcs{})
		status := s.run(t.Context(), []string{"submit", "mnist", "--image", "train:1", flag, "-1", "--dry-run"})
		if said := s.err.String(); status != 1 || !strings.Contains(said, flag+" -1") || !strings.Contains(said, "write numbers from 0") {
			t.Errorf("%s -1: status %d, %s", flag, status, said)
		}
	}
}

// A job that goes on where another one ended begins behind its latest attempt, whether it comes from flags or from a file.
func TestSubmitBehindAnotherJob(t *testing.T) {
	s := newStage(interceptor.Funcs{})
	args := []string{"submit", "mnist", "--image", "train:1", "--after", "7", "--dry-run", "--", "train"}
	if status := s.run(t.Context(), args); status != 0 || !strings.Contains(s.out.String(), `trainingjob.dev/first-attempt: "8"`) {
		t.Fatalf("status %d: %s%s", status, s.out, s.err)
	}
	s.In = strings.NewReader(s.out.String())
	if status := s.run(t.Context(), []string{"submit", "-f", "-", "--after", "11"}); status != 0 {
		t.Fatal(s.err.String())
	}
	var job v1alpha1.TrainingJob
	if err := s.kube.Get(t.Context(), client.ObjectKey{Namespace: "team-a", Name: "mnist"}, &job); err != nil || job.Annotations[v1alpha1.AnnotationFirstAttempt] != "12" {
		t.Errorf("error %v, annotations %v", err, job.Annotations)
	}
	for _, wrong := range []string{"-1", "999999"} {
		if status := s.run(t.Context(), append([]string{"submit", "mnist", "--image", "train:1", "--after", wrong, "--dry-run", "--"}, "train")); status != 1 || !strings.Contains(s.err.String(), "from 0 to 999998") {
			t.Errorf("--after %s: status %d, %s", wrong, status, s.err)
		}
	}
}

// What convert makes of a job of Kubeflow's the API server would take, and what changed is told apart from it.
func TestConvert(t *testing.T) {
	s := newStage(interceptor.Funcs{})
	s.In = strings.NewReader(`apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: mnist}
spec:
  runPolicy: {backoffLimit: 3}
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: train}]}}}
`)
	if status := s.run(t.Context(), []string{"convert", "-f", "-"}); status != 0 {
		t.Fatal(s.err.String())
	}
	if _, err := tjschema.Job(s.out.Bytes()); err != nil || !strings.Contains(s.err.String(), "PyTorchJob mnist") {
		t.Errorf("%v; report %q, job\n%s", err, s.err, s.out)
	}
	if status := s.run(t.Context(), []string{"convert"}); status != 1 {
		t.Errorf("status %d without a file", status)
	}
}

// That a probe failed is in the Events of the pod alone, and the pod is kept: why quotes them, and says what to look at.
func TestWhyQuotesWhatTheKubeletSaidOfThePodThatItEnded(t *testing.T) {
	job, objects := running("mnist", 2, builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.LastFailure = &v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Pod: "mnist-worker-1", Cause: v1alpha1.CauseRetryable, Reason: "Error", ExitCode: ptr.To[int32](143), Time: builder.Time(0)}
	}))
	event := func(name, reason, message string) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: name}, Type: corev1.EventTypeWarning, Reason: reason, Message: message,
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "mnist-worker-1", UID: "uid-mnist-worker-1"}, LastTimestamp: builder.Time(0),
		}
	}
	objects = append(objects, event("a", "Unhealthy", "Liveness probe failed: cat: can't open '/tmp/alive'"))
	s := newStage(interceptor.Funcs{}, objects...)
	if status := s.run(t.Context(), []string{"why", "mnist"}); status != 0 {
		t.Fatalf("status %d: %s", status, s.err)
	}
	for _, want := range []string{"Event of mnist-worker-1", "Unhealthy: Liveness probe failed: cat"} {
		if !strings.Contains(s.out.String(), want) {
			t.Errorf("why does not say %q:\n%s", want, s.out)
		}
	}
}
