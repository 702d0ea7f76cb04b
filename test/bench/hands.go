package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/bench/results"
)

// hand makes pods, and restarts all of them, without a controller.
type hand struct {
	make func(context.Context, *bench, shape) error
	// remake restarts the pods of one large job.
	remake func(context.Context, *bench) error
}

// podsByHand are bare pods, the limit of all contenders.
var podsByHand = contender{
	name: results.Limit, kinds: []client.Object{&corev1.Pod{}}, hand: &hand{make: byHand, remake: remakeAll},
	cannot: map[string]string{rowNode: "no controller acts", rowRest: "no controller acts"},
}

// objectsByHand are the Services and pods of TrainingJobs: the limit of any operator that makes them.
var objectsByHand = contender{
	name: "TrainingJob's objects by hand", kinds: []client.Object{&corev1.Pod{}, &corev1.Service{}}, hand: &hand{make: sameByHand, remake: remakeSame},
	only: []string{rowLarge, rowSmall, rowHuge, rowRestart},
}

// patchedByHand restarts such pods by the patch of a restart in place.
var patchedByHand = contender{
	name: "the patches in place by hand", kinds: objectsByHand.kinds, hand: &hand{make: sameByHand, remake: patchAll}, keepsPods: true,
	only: []string{rowRestart},
}

// remakeAll deletes all bare pods, and makes them again once they are gone.
func remakeAll(ctx context.Context, b *bench) error {
	if err := deleteAll(ctx, b); err != nil {
		return err
	}
	return byHand(ctx, b, shape{1, b.workers})
}

// remakeSame does so with pods as those of a TrainingJob.
func remakeSame(ctx context.Context, b *bench) error {
	if err := deleteAll(ctx, b); err != nil {
		return err
	}
	_, pods := b.sameObjects(0, shape{1, b.workers})
	return b.each(ctx, func(ctx context.Context, i int) error { return b.client.Create(ctx, pods[i]) })
}

// deleteAll deletes all pods and waits until they are gone. The next pods get other names: kwok may yet delete a pod by its name that is gone.
func deleteAll(ctx context.Context, b *bench) error {
	names, err := b.podNames(ctx)
	if err != nil {
		return err
	}
	err = eachOf(ctx, len(names), func(ctx context.Context, i int) error {
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name = b.namespace, names[i]
		return b.client.Delete(ctx, pod)
	})
	if err != nil {
		return fmt.Errorf("deleting by hand: %w", err)
	}
	b.turn++
	return b.noneLeft(ctx, 20*time.Millisecond)
}

// remakeOne deletes a pod that was made by hand, and makes another.
func (b *bench) remakeOne(ctx context.Context) error {
	if err := b.client.Delete(ctx, b.barePod(b.workers/2)); err != nil {
		return fmt.Errorf("deleting by hand: %w", err)
	}
	return b.client.Create(ctx, b.barePod(b.workers))
}

// patchAll patches all pods as the operator does to restart them in place, and waits until their containers have started again.
func patchAll(ctx context.Context, b *bench) error {
	var pods corev1.PodList
	made := []client.ListOption{client.InNamespace(b.namespace), client.MatchingLabels{benchLabel: "pod"}}
	if err := b.client.List(ctx, &pods, made...); err != nil {
		return fmt.Errorf("listing the pods to restart: %w", err)
	}
	changes, err := b.watchOn(ctx, &corev1.PodList{}, pods.ResourceVersion, made...)
	if err != nil {
		return fmt.Errorf("watching the pods to restart: %w", err)
	}
	defer changes.Stop()
	err = eachOf(ctx, len(pods.Items), func(ctx context.Context, i int) error {
		patch, err := restartPatch(&pods.Items[i])
		if err != nil {
			return err
		}
		return b.client.Patch(ctx, &pods.Items[i], client.RawPatch(types.StrategicMergePatchType, patch))
	})
	if err != nil {
		return fmt.Errorf("restarting in place by hand: %w", err)
	}
	return awaitStartedAgain(ctx, changes, len(pods.Items))
}

// restartPatch is the patch of a restart in place, as pkg/operator/cluster writes it.
func restartPatch(pod *corev1.Pod) ([]byte, error) {
	life := state.Life{Attempt: 1}
	told := state.Told{Life: life, Process: pod.Status.ContainerStatuses[0].ContainerID, Time: time.Now().Truncate(time.Second)}
	image := state.ImageFor(strings.TrimPrefix(pod.Status.ContainerStatuses[0].ImageID, "docker-pullable://"), life)
	return json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid": pod.UID, "resourceVersion": pod.ResourceVersion,
			"labels":      map[string]string{v1alpha1.LabelAttempt: "1", v1alpha1.LabelLife: life.String()},
			"annotations": map[string]string{v1alpha1.AnnotationInPlaceRestart: told.String(), v1alpha1.AnnotationLifeNumber: "1000001", v1alpha1.AnnotationLeaderPort: "23457"},
		},
		"spec": map[string]any{"containers": []map[string]string{{"name": pod.Spec.Containers[0].Name, "image": image}}},
	})
}

// awaitStartedAgain waits until the containers of so many pods have started again.
func awaitStartedAgain(ctx context.Context, changes watch.Interface, pods int) error {
	again := map[types.UID]bool{}
	for len(again) < pods {
		select {
		case e, open := <-changes.ResultChan():
			if !open {
				return errors.New("the API server ended the watch")
			}
			pod, ok := e.Object.(*corev1.Pod)
			if !ok {
				return fmt.Errorf("watching pods: %w", apierrors.FromObject(e.Object))
			}
			if c := pod.Status.ContainerStatuses; len(c) > 0 && c[0].RestartCount > 0 && c[0].State.Running != nil {
				again[pod.UID] = true
			}
		case <-ctx.Done():
			return fmt.Errorf("%d of %d pods have started again: %w", len(again), pods, ctx.Err())
		}
	}
	return nil
}
