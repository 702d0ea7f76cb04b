package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/api/testbed"
)

// nodeLoss takes the heartbeat of a fake node away and measures how long a collective takes until all its ranks run again.
func (b *bench) nodeLoss(ctx context.Context) error {
	job := b.recovering(v1alpha1.PyTorch)
	if err := b.start(ctx, job); err != nil {
		return err
	}
	node, err := b.nodeOf(ctx, state.PodName(job.Name, state.Slot{Role: v1alpha1.Worker, Index: b.workers / 2}, state.Life{}))
	if err != nil {
		return err
	}
	if !testbed.IsFake(node) {
		fmt.Println("Node loss: not measured, the nodes are not the lab's")
		return b.cleanUp(ctx, maker{kinds: []client.Object{&v1alpha1.TrainingJob{}}})
	}
	begin := time.Now()
	if err := testbed.Tell(ctx, b.client, node.DeepCopy(), testbed.Annotations{"dead": "true"}); err != nil {
		return err
	}
	notReady, err := b.awaitNotReady(ctx, node.Name)
	if err != nil {
		return err
	}
	// The ranks of the other nodes keep their pods.
	if err := b.awaitRestarted(ctx, job); err != nil {
		return err
	}
	fmt.Printf("A node lost under %d ranks, its pods never end, default settings:\n  %.1f s from the last heartbeat to NotReady (Kubernetes), %.1f s from there until all ranks run\n\n",
		b.workers, notReady.Sub(begin).Seconds(), time.Since(notReady).Seconds())
	if err := testbed.Tell(ctx, b.client, node.DeepCopy(), testbed.Annotations{"dead": nil}); err != nil {
		return err
	}
	return b.cleanUp(ctx, maker{kinds: []client.Object{&v1alpha1.TrainingJob{}}})
}

func (b *bench) nodeOf(ctx context.Context, podName string) (*corev1.Node, error) {
	pod, node := &corev1.Pod{}, &corev1.Node{}
	err := b.client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: podName}, pod)
	if err == nil {
		err = b.client.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node)
	}
	if err != nil {
		return nil, fmt.Errorf("looking for a node to lose: %w", err)
	}
	return node, nil
}

// awaitNotReady returns when the node was first seen not to be ready.
func (b *bench) awaitNotReady(ctx context.Context, name string) (time.Time, error) {
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var node corev1.Node
		if err := b.client.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
			return false, err
		}
		return !testbed.IsReady(&node), nil
	})
	return time.Now(), err
}
