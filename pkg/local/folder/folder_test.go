package folder

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// aRun returns the folder of a run that goes on, of a job with one pod whose main container runs.
func aRun(t *testing.T) (string, *State) {
	t.Helper()
	at := t.TempDir()
	if err := Make(at); err != nil {
		t.Fatal(err)
	}
	job := builder.Job("j", builder.Workers(1))
	job.ResourceVersion = "1"
	pod := builder.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, corev1.PodRunning)
	pod.Namespace, pod.ResourceVersion = job.Namespace, "1"
	s := &State{Process: os.Getpid(), Job: job, Pods: []corev1.Pod{*pod}}
	s.Events = []corev1.Event{{InvolvedObject: corev1.ObjectReference{UID: job.UID}, Reason: "Restarting"}}
	write(t, at, s)
	return at, s
}

func write(t *testing.T, at string, s *State) {
	t.Helper()
	if err := Write(at, s); err != nil {
		t.Fatal(err)
	}
}

func second(n int) time.Time { return builder.Epoch.Add(time.Duration(n) * time.Second) }

// container writes the lines of one container into the log, one second apart, from that second on.
func container(t *testing.T, at, name string, from int, lines ...string) {
	t.Helper()
	w, err := Append(at, name)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range lines {
		w.Add(line, second(from+i))
	}
	w.Close(second(from + len(lines)))
}

func TestALogHasTheLinesOfOneContainerWithTheirTimes(t *testing.T) {
	at, s := aRun(t)
	s.Process = 0
	write(t, at, s)
	name := s.Pods[0].Name
	main := s.Pods[0].Spec.Containers[0].Name
	container(t, at, name+".log", 0, "a\n", "b\n", "no end")
	container(t, at, name+".log", 10, "c\n", "a long ", "line\n", "d\n")
	for what, c := range map[string]struct {
		options corev1.PodLogOptions
		want    []string
	}{
		"the present container":                      {corev1.PodLogOptions{}, []string{"10 c", "12 a long line", "13 d"}},
		"the container before":                       {corev1.PodLogOptions{Previous: true}, []string{"0 a", "1 b", "3 no end"}},
		"the last lines":                             {corev1.PodLogOptions{TailLines: ptr.To[int64](2)}, []string{"12 a long line", "13 d"}},
		"more lines than there are":                  {corev1.PodLogOptions{TailLines: ptr.To[int64](9)}, []string{"10 c", "12 a long line", "13 d"}},
		"lines from a time on":                       {corev1.PodLogOptions{SinceTime: &metav1.Time{Time: second(11)}}, []string{"12 a long line", "13 d"}},
		"lines from the future on":                   {corev1.PodLogOptions{SinceTime: &metav1.Time{Time: second(99)}}, nil},
		"of a run that has ended, it does not go on": {corev1.PodLogOptions{Follow: true, TailLines: ptr.To[int64](1)}, []string{"13 d"}},
	} {
		t.Run(what, func(t *testing.T) {
			if diff := cmp.Diff(c.want, seconds(t, logOf(t, at, name, main, &c.options))); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// logOf returns all of a log.
func logOf(t *testing.T, at, pod, container string, o *corev1.PodLogOptions) string {
	t.Helper()
	c, err := Open(at)
	if err != nil {
		t.Fatal(err)
	}
	log, err := c.Log(t.Context(), pod, container, o)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	text, err := io.ReadAll(log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// seconds returns the lines with their time in seconds.
func seconds(t *testing.T, text string) []string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		at, err := time.Parse(time.RFC3339Nano, word)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%.0f %s", at.Sub(builder.Epoch).Seconds(), rest))
	}
	return lines
}

func TestALogIsFollowedUntilItsContainerEnds(t *testing.T) {
	at, s := aRun(t)
	pod := &s.Pods[0]
	main := pod.Spec.Containers[0].Name
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: main, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	write(t, at, s)
	w, err := Append(at, pod.Name+".log")
	if err != nil {
		t.Fatal(err)
	}
	w.Add("a\n", second(0))
	c, err := Open(at)
	if err != nil {
		t.Fatal(err)
	}
	log, err := c.Log(t.Context(), pod.Name, main, &corev1.PodLogOptions{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	first := make([]byte, len("2026-01-05T12:00:00Z a\n"))
	if _, err := io.ReadFull(log, first); err != nil || !strings.HasSuffix(string(first), " a\n") {
		t.Fatalf("the first line is %q: %v", first, err)
	}
	w.Add("b\n", second(1))
	w.Close(second(1))
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	write(t, at, s)
	rest, err := io.ReadAll(log)
	if diff := cmp.Diff([]string{"1 b"}, seconds(t, string(rest))); diff != "" || err != nil {
		t.Errorf("error %v, the rest (-want +got):\n%s", err, diff)
	}
}

func TestALogThatIsNotThere(t *testing.T) {
	at, s := aRun(t)
	c, err := Open(at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Log(t.Context(), s.Pods[0].Name, "c", &corev1.PodLogOptions{}); !apierrors.IsBadRequest(err) {
		t.Errorf("before the container starts: %v", err)
	}
	if _, err := c.Log(t.Context(), "j-worker-7", "c", &corev1.PodLogOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("without the pod: %v", err)
	}
}

func TestAClientReadsAndTakesNoChanges(t *testing.T) {
	at, s := aRun(t)
	c, err := Open(at)
	if err != nil {
		t.Fatal(err)
	}
	job := &v1alpha1.TrainingJob{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.Job), job); err != nil || job.UID != s.Job.UID {
		t.Errorf("the job: %v", err)
	}
	var events corev1.EventList
	if err := c.List(t.Context(), &events, client.MatchingFields{"involvedObject.uid": "another"}); err != nil || len(events.Items) != 0 {
		t.Errorf("Events of another object: %v, %v", events.Items, err)
	}
	if err := c.List(t.Context(), &events, client.MatchingFields{"involvedObject.uid": string(job.UID)}); err != nil || len(events.Items) != 1 {
		t.Errorf("Events of the job: %v, %v", events.Items, err)
	}
	if err := c.Delete(t.Context(), job); err == nil || !strings.Contains(err.Error(), "Ctrl-C") {
		t.Errorf("a deletion: %v", err)
	}
	if info, err := os.Stat(filepath.Join(at, "state.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state's mode: %v, %v", info.Mode(), err)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is no folder of a local run") {
		t.Errorf("another folder: %v", err)
	}
}

// A watch shows each change. The end of a run whose job has not finished is the end of the job.
func TestWatch(t *testing.T) {
	at, s := aRun(t)
	c, err := Open(at)
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Watch(t.Context(), &v1alpha1.TrainingJobList{}, client.InNamespace(s.Job.Namespace), client.MatchingFields{"metadata.name": "j"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	next := func(kind watch.EventType, version string) {
		t.Helper()
		if e := <-w.ResultChan(); e.Type != kind || e.Object.(*v1alpha1.TrainingJob).ResourceVersion != version {
			t.Fatalf("%s %v, want %s of version %s", e.Type, e.Object, kind, version)
		}
	}
	next(watch.Modified, "1")
	s.Job.ResourceVersion = "2"
	write(t, at, s)
	next(watch.Modified, "2")
	s.Process = 0
	write(t, at, s)
	next(watch.Deleted, "2")
}
