package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

// play shows one job after the other and stops at the first thing that is not as it should be.
func (s *stage) play(ctx context.Context) error {
	for _, scene := range []func(context.Context) error{s.parameterServers, s.collective, s.permanentFailure} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	return nil
}

// apart is how long after a failure another one is an incident of its own: a parameter server that breaks sooner explains it.
const apart = 11 * time.Second

// parameterServers: a worker is replaced by itself, a parameter server takes the whole job with it.
func (s *stage) parameterServers(ctx context.Context) error {
	a, err := s.submit(ctx, "tensorflow-ps.yaml")
	if err != nil {
		return err
	}
	if err := a.breaks(ctx, "worker-1", "137", "worker-1"); err != nil {
		return err
	}
	if err := a.await(ctx, "is over its failure", func(j *v1alpha1.TrainingJob) bool {
		return time.Since(j.Status.LastFailure.Time.Time) > apart
	}); err != nil {
		return err
	}
	if err := a.breaks(ctx, "ps-1", "1", "chief-0", "evaluator-0", "ps-0", "ps-1", "worker-0", "worker-1", "worker-2", "worker-3"); err != nil {
		return err
	}
	return a.succeeds(ctx, "chief-0", 2, 1)
}

// collective: one rank's death restarts all, once, each in its pod. So does the loss of a node, which is not charged: the others restart in their pods.
func (s *stage) collective(ctx context.Context) error {
	a, err := s.submit(ctx, "pytorch-ddp.yaml")
	if err != nil {
		return err
	}
	if err := a.breaks(ctx, "worker-2", "137"); err != nil {
		return err
	}
	if err := a.losesNode(ctx, "worker-1", "worker-1"); err != nil {
		return err
	}
	return a.succeeds(ctx, "master-0", 2, 2)
}

// permanentFailure: an exit code that no restart can mend fails the job, with the evidence.
func (s *stage) permanentFailure(ctx context.Context) error {
	a, err := s.submit(ctx, "exit-code.yaml")
	if err != nil {
		return err
	}
	if err := a.end(ctx, "worker-1", "2"); err != nil {
		return err
	}
	return a.awaitEnd(ctx, "fails for worker-1's exit code 2", v1alpha1.PhaseFailed, func(j *v1alpha1.TrainingJob) bool {
		f := j.Status.LastFailure
		return j.Status.Reason == v1alpha1.ReasonFatalExit &&
			f.Role == v1alpha1.Worker && f.Index == 1 && *f.ExitCode == 2 && j.Status.Restarts == 0
	})
}

// breaks ends a replica with an exit code, and waits until the job runs again with new pods for those expected. Before that, the operator has closed
// the gate of the replica's pod, if it has one: else the fake node would start its process again.
func (a *act) breaks(ctx context.Context, replica, code string, expected ...string) error {
	var before map[string]corev1.Pod
	if err := a.await(ctx, "runs behind closed gates", func(*v1alpha1.TrainingJob) bool {
		var err error
		before, err = a.pods(ctx)
		return err == nil && before[a.name+"-"+replica].Annotations[v1alpha1.AnnotationStartGate] != v1alpha1.GateOpen
	}); err != nil {
		return err
	}
	if err := a.end(ctx, replica, code); err != nil {
		return err
	}
	return a.returns(ctx, before, replica, expected)
}

// losesNode ends the node of a replica, and waits until the replicas expected are back, on other nodes.
func (a *act) losesNode(ctx context.Context, replica string, expected ...string) error {
	before, err := a.pods(ctx)
	if err != nil {
		return err
	}
	lost := before[a.name+"-"+replica].Spec.NodeName
	a.timeline.say("you", "cut power", fmt.Sprintf("%s dies with %s: Kubernetes waits %s (50s by default), the operator 15s more", lost, replica, grace))
	if err := testbed.Tell(ctx, a.client, testbed.NodeNamed(lost), testbed.Annotations{"dead": "true"}); err != nil {
		return err
	}
	if err := a.returns(ctx, before, replica, expected); err != nil {
		return err
	}
	after, err := a.pods(ctx)
	for host, pod := range after {
		if pod.Spec.NodeName == lost {
			return fmt.Errorf("%s is on %s, which is dead", host, lost)
		}
	}
	return err
}

// returns waits until the job runs in full again after a replica broke, which has another life then, and checks that exactly the replicas expected have
// new pods, under the same host name and rank.
func (a *act) returns(ctx context.Context, before map[string]corev1.Pod, replica string, expected []string) error {
	var after map[string]corev1.Pod
	err := a.await(ctx, "has all its replicas back", func(j *v1alpha1.TrainingJob) bool {
		var err error
		after, err = a.pods(ctx)
		full, host := fmt.Sprintf("%d/%d", len(before), len(before)), a.name+"-"+replica
		return err == nil && len(after) == len(before) && after[host].Labels[v1alpha1.LabelLife] != before[host].Labels[v1alpha1.LabelLife] && j.Status.Ready == full
	})
	if err != nil {
		return err
	}
	var renewed []string
	inPlace := 0
	for host, pod := range after {
		was := before[host]
		switch {
		case pod.UID != was.UID:
			renewed = append(renewed, strings.TrimPrefix(host, a.name+"-"))
		case pod.Labels[v1alpha1.LabelAttempt] != was.Labels[v1alpha1.LabelAttempt]:
			inPlace++
		}
		if rank := pod.Labels[v1alpha1.LabelRank]; rank != was.Labels[v1alpha1.LabelRank] {
			return fmt.Errorf("%s has rank %s and had %s", host, rank, was.Labels[v1alpha1.LabelRank])
		}
	}
	slices.Sort(renewed)
	if !slices.Equal(renewed, expected) {
		return fmt.Errorf("%s broke: new pods for %v, expected %v", replica, renewed, expected)
	}
	pod := after[a.name+"-"+replica]
	text := fmt.Sprintf("%s is back as %s on %s: same host name, rank %s; new pods: %d of %d",
		replica, pod.Name, pod.Spec.NodeName, pod.Labels[v1alpha1.LabelRank], len(renewed), len(after))
	if inPlace > 0 {
		text += fmt.Sprintf("; %d restarted in their pods", inPlace)
	}
	a.timeline.say(a.name, "Recovered", text)
	return nil
}

// succeeds lets the leader and then the workers finish, as training programs do, and checks the job's verdict and counts.
func (a *act) succeeds(ctx context.Context, leader string, restarts, attempt int32) error {
	if err := a.end(ctx, leader, "0"); err != nil {
		return err
	}
	if err := a.endOthers(ctx); err != nil {
		return err
	}
	what := fmt.Sprintf("succeeds after %d restarts in attempt %d", restarts, attempt)
	return a.awaitEnd(ctx, what, v1alpha1.PhaseSucceeded, func(j *v1alpha1.TrainingJob) bool {
		return j.Status.Restarts == restarts && j.Status.Attempt == attempt
	})
}

// awaitEnd waits until the job has ended as it should, the timeline has told so, and no pod of it runs any more.
func (a *act) awaitEnd(ctx context.Context, what string, phase v1alpha1.Phase, holds func(*v1alpha1.TrainingJob) bool) error {
	var ended bool
	return a.await(ctx, what, func(j *v1alpha1.TrainingJob) bool {
		ended = ended || (j.Status.Phase == phase && holds(j))
		left, err := a.pods(ctx)
		return ended && err == nil && len(left) == 0 && j.Status.ReadyReplicas == 0 && a.timeline.hasTold(a.name, string(phase))
	})
}
