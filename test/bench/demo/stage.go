package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

const (
	namespace = "default"
	// settleAfter is how long a finished job may take until its pods are cleaned up and its Events are told.
	settleAfter = 20 * time.Second
	look        = 50 * time.Millisecond
)

// stage is the cluster that the demo plays on.
type stage struct {
	client   client.WithWatch
	examples string
	timeline *timeline
	// exit ends a pod with a code.
	exit func(context.Context, *corev1.Pod, string) error
}

func newStage(ctx context.Context, kubeconfig, examples string) (*stage, error) {
	c, err := testbed.Connect(kubeconfig, "trainingjob-demo")
	if err != nil {
		return nil, err
	}
	t := &timeline{began: time.Now(), told: map[string]bool{}}
	s := &stage{client: c, examples: examples, timeline: t}
	s.exit = s.exitOnFakeNode
	return s, t.follow(ctx, c)
}

// submit creates the job of an example and waits until it runs.
func (s *stage) submit(ctx context.Context, file string) (*act, error) {
	text, err := os.ReadFile(filepath.Join(s.examples, file))
	if err != nil {
		return nil, err
	}
	job := &v1alpha1.TrainingJob{}
	if err := yaml.UnmarshalStrict(text, job); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	job.Namespace = namespace
	fmt.Println()
	s.timeline.say("you", "apply", "kubectl apply -f examples/"+file)
	if err := s.client.Create(ctx, job); err != nil {
		return nil, fmt.Errorf("submitting %s: %w", file, err)
	}
	a := &act{stage: s, name: job.Name}
	return a, a.await(ctx, "runs", func(j *v1alpha1.TrainingJob) bool { return j.Status.Phase == v1alpha1.PhaseRunning })
}

// act is one job on the stage.
type act struct {
	*stage
	name string
}

// await waits until the job is as it should be, and not much longer than until it has finished.
func (a *act) await(ctx context.Context, what string, holds func(*v1alpha1.TrainingJob) bool) error {
	var job v1alpha1.TrainingJob
	err := wait.PollUntilContextCancel(ctx, look, true, func(ctx context.Context) (bool, error) {
		err := a.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: a.name}, &job)
		switch {
		case err != nil:
			return false, err
		case holds(&job):
			return true, nil
		case job.Status.CompletionTime != nil && time.Since(job.Status.CompletionTime.Time) > settleAfter:
			return false, errors.New("it has finished")
		default:
			return false, nil
		}
	})
	if err != nil {
		return fmt.Errorf("waiting until %s %s: %w; it is %s with %d restarts: %s", a.name, what, err, job.Status.Phase, job.Status.Restarts, job.Status.Message)
	}
	return nil
}

// pods returns the job's pods that run, by host name.
func (a *act) pods(ctx context.Context) (map[string]corev1.Pod, error) {
	var list corev1.PodList
	err := a.client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{v1alpha1.LabelJobName: a.name})
	pods := map[string]corev1.Pod{}
	for i := range list.Items {
		if p := &list.Items[i]; p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp.IsZero() {
			pods[p.Spec.Hostname] = *p
		}
	}
	return pods, err
}

// end lets the running pod of a replica exit with a code.
func (a *act) end(ctx context.Context, replica, code string) error {
	pods, err := a.pods(ctx)
	if err != nil {
		return err
	}
	pod, found := pods[a.name+"-"+replica]
	if !found {
		return fmt.Errorf("%s has no running pod for %s", a.name, replica)
	}
	a.timeline.say("you", "exit "+code, fmt.Sprintf("%s on %s exits with code %s", pod.Name, pod.Spec.NodeName, code))
	return a.exit(ctx, &pod, code)
}

// endOthers lets the running pods of all workers and evaluators exit with code 0. They have finishGraceSeconds for it before the job ends them.
func (a *act) endOthers(ctx context.Context) error {
	pods, err := a.pods(ctx)
	if err != nil {
		return err
	}
	maps.DeleteFunc(pods, func(_ string, p corev1.Pod) bool {
		return !slices.Contains([]string{"worker", "evaluator"}, p.Labels[v1alpha1.LabelRole])
	})
	a.timeline.say("you", "exit 0", fmt.Sprintf("%d more replicas exit with code 0: %s", len(pods), strings.Join(slices.Sorted(maps.Keys(pods)), ", ")))
	for _, pod := range pods {
		if err := a.exit(ctx, &pod, "0"); err != nil {
			return err
		}
	}
	return nil
}

// exitOnFakeNode makes a fake node end the pod with a code.
func (s *stage) exitOnFakeNode(ctx context.Context, pod *corev1.Pod, code string) error {
	return testbed.Tell(ctx, s.client, pod, testbed.Annotations{"exit-code": code})
}
