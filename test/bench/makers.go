package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
)

// byHandParallel is how many requests are under way when pods are made by hand.
const byHandParallel = 32

// maker is one way to make pods.
type maker struct {
	name string
	// make submits what makes the pods.
	make func(context.Context, *bench, shape) error
	// kinds are what it submits, to be deleted afterwards.
	kinds []client.Object
	// isOurs says whether the operator takes part, so that its requests count.
	isOurs bool
}

// allMakers are measured in this order; the first is the limit.
var allMakers = []maker{
	{name: "by hand", make: byHand, kinds: []client.Object{&corev1.Pod{}}},
	{name: "same by hand", make: sameByHand, kinds: []client.Object{&corev1.Pod{}, &corev1.Service{}}},
	{name: "TrainingJob", make: trainingJobs, kinds: []client.Object{&v1alpha1.TrainingJob{}}, isOurs: true},
	{name: "batch/v1 Job", make: batchJobs, kinds: []client.Object{&batchv1.Job{}}},
}

func byHand(ctx context.Context, b *bench, s shape) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(byHandParallel)
	for i := range s.jobs * s.pods {
		group.Go(func() error {
			template := b.template()
			return b.client.Create(ctx, &corev1.Pod{ObjectMeta: b.meta("hand", i), Spec: template.Spec})
		})
	}
	return group.Wait()
}

// sameByHand makes the Services and pods that TrainingJobs of the shape have, without a TrainingJob: what they cost the
// cluster, whoever makes them.
func sameByHand(ctx context.Context, b *bench, s shape) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(byHandParallel)
	for i := range s.jobs {
		service, pods := b.sameObjects(i, s)
		group.Go(func() error { return b.client.Create(ctx, service) })
		for _, pod := range pods {
			group.Go(func() error { return b.client.Create(ctx, pod) })
		}
	}
	return group.Wait()
}

// sameObjects are the Service and the pods of the i-th TrainingJob of the shape.
func (b *bench) sameObjects(i int, s shape) (*corev1.Service, []*corev1.Pod) {
	job := b.trainingJob("same", i, s)
	job.UID = types.UID(fmt.Sprintf("bench-%d", i))
	pod := podsOf(job)
	pods := make([]*corev1.Pod, s.pods)
	for index := range pods {
		pods[index] = pod(index)
	}
	return serviceOf(job), pods
}

// serviceOf is the Service of the job as the operator makes it, without an owner.
func serviceOf(job *v1alpha1.TrainingJob) *corev1.Service {
	service := build.Service(job, framework.Ports(job))
	service.OwnerReferences, service.Labels[benchLabel] = nil, "service"
	return service
}

// podsOf returns the function that makes the job's workers as the operator makes them, without an owner.
func podsOf(job *v1alpha1.TrainingJob) func(index int) *corev1.Pod {
	made := plan.Pods(job)
	return func(index int) *corev1.Pod {
		pod := made(plan.CreatePod{Slot: state.Slot{Role: v1alpha1.Worker, Index: index}, Placement: &plan.Placement{Gated: true}})
		pod.OwnerReferences = nil
		return pod
	}
}

func trainingJobs(ctx context.Context, b *bench, s shape) error {
	return eachJob(s, func(i int) error { return b.client.Create(ctx, b.trainingJob("train", i, s)) })
}

func (b *bench) trainingJob(kind string, i int, s shape) *v1alpha1.TrainingJob {
	return &v1alpha1.TrainingJob{ObjectMeta: b.meta(kind, i), Spec: v1alpha1.TrainingJobSpec{
		Framework: v1alpha1.PyTorch,
		ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{
			v1alpha1.Worker: {Replicas: ptr.To(int32(s.pods)), Template: b.template()},
		},
	}}
}

func batchJobs(ctx context.Context, b *bench, s shape) error {
	return eachJob(s, func(i int) error { return b.client.Create(ctx, b.batchJob(i, s)) })
}

func (b *bench) batchJob(i int, s shape) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: b.meta("batch", i), Spec: batchv1.JobSpec{
		Completions: ptr.To(int32(s.pods)), Parallelism: ptr.To(int32(s.pods)),
		CompletionMode: ptr.To(batchv1.IndexedCompletion), Template: b.template(),
	}}
}

func eachJob(s shape, submit func(int) error) error {
	var group errgroup.Group
	group.SetLimit(byHandParallel)
	for i := range s.jobs {
		group.Go(func() error { return submit(i) })
	}
	return group.Wait()
}

func (b *bench) meta(kind string, i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: b.namespace, Name: b.name(kind, i), Labels: map[string]string{benchLabel: "pod"}}
}

// name is that of the i-th object of a kind. No two turns have names in common: a node that deletes a pod late, as kwok may, would hit the
// next one of its name.
func (b *bench) name(kind string, i int) string {
	return fmt.Sprintf("bench-%d-%s-%d", b.turn, kind, i)
}

func (b *bench) template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{benchLabel: "pod"}},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: ptr.To(int64(1)),
			Containers:                    []corev1.Container{{Name: "main", Image: b.image}},
		},
	}
}
