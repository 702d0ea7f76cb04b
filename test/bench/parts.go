package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/state"
)

// part is one thing that a replica's pod has beside its template.
type part struct {
	name string
	// add takes it over from the full pod.
	add func(pod, full *corev1.Pod)
}

// parts are added one after the other; together they are the pod that the operator makes.
var parts = []part{
	{"template", func(_, _ *corev1.Pod) {}},
	{"labels", func(pod, full *corev1.Pod) { maps.Copy(pod.Labels, full.Labels) }},
	{"annotations", func(pod, full *corev1.Pod) { pod.Annotations = full.Annotations }},
	{"owner", func(pod, full *corev1.Pod) { pod.OwnerReferences = full.OwnerReferences }},
	{"host name", func(pod, full *corev1.Pod) {
		pod.Spec.Hostname, pod.Spec.Subdomain = full.Spec.Hostname, full.Spec.Subdomain
	}},
	{"tolerations", func(pod, full *corev1.Pod) { pod.Spec.Tolerations = full.Spec.Tolerations }},
	{"environment", func(pod, full *corev1.Pod) { pod.Spec.Containers[0].Env = full.Spec.Containers[0].Env }},
}

func partsCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "parts",
		Short: "Measures what each part of a replica's pod costs: bytes, managed fields, and pods per second",
		Args:  cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := newBench(*o)
			if err != nil {
				return err
			}
			return b.parts(cmd.Context(), v1alpha1.PyTorch)
		},
	}
	return cmd
}

// parts makes the pods of a job of that framework by hand, without a Service, with one part more each time.
func (b *bench) parts(ctx context.Context, f v1alpha1.Framework) error {
	rates := make([][]float64, len(parts))
	bytes := make([]size, len(parts))
	for range b.rounds {
		for i := range parts {
			rate, pod, err := b.withParts(ctx, f, parts[:i+1])
			if err != nil {
				return fmt.Errorf("%s: %w", parts[i].name, err)
			}
			rates[i], bytes[i] = append(rates[i], rate), sizeOf(pod)
		}
	}
	fmt.Printf("%d pods of a %s job made by hand, without a Service, with one part after the other:\n", b.workers, f)
	limit := middle(rates[0])
	for i := range parts {
		fmt.Printf("  + %-12s %6.1f pods/s  %.2f  %5d bytes as JSON, and %5d of managed fields\n",
			parts[i].name, middle(rates[i]), middle(rates[i])/limit, bytes[i].own, bytes[i].managed)
	}
	fmt.Println()
	return nil
}

// withParts makes the pods and returns how many come to run per second, and one of them.
func (b *bench) withParts(ctx context.Context, f v1alpha1.Framework, with []part) (float64, *corev1.Pod, error) {
	var owner corev1.Namespace // the garbage collector deletes pods whose owner does not exist
	if err := b.client.Get(ctx, client.ObjectKey{Name: b.namespace}, &owner); err != nil {
		return 0, nil, err
	}
	job := b.trainingJob("parts", 0, shape{1, b.workers})
	job.UID, job.Spec.Framework = "bench-parts", f
	environment := framework.Environment(job)
	turn := b.another()
	made := func(i int) *corev1.Pod {
		slot := state.Slot{Role: v1alpha1.Worker, Index: i}
		full, pod := build.Pod(job, slot, state.Life{}, environment(slot), nil), b.barePod(i)
		pod.Name = fmt.Sprintf("bench-parts-%d-%d", turn, i)
		full.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&owner, corev1.SchemeGroupVersion.WithKind("Namespace"))}
		for _, p := range with {
			p.add(pod, full)
		}
		return pod
	}
	begin := time.Now()
	if err := b.createAll(ctx, made); err != nil {
		return 0, nil, err
	}
	seconds := time.Since(begin).Seconds()
	var pod corev1.Pod
	if err := b.client.Get(ctx, client.ObjectKeyFromObject(made(b.workers-1)), &pod); err != nil {
		return 0, nil, err
	}
	return float64(b.workers) / seconds, &pod, b.cleanUp(ctx, maker{kinds: []client.Object{&corev1.Pod{}}})
}

// size is how many bytes a pod has as JSON.
type size struct{ own, managed int }

func sizeOf(pod *corev1.Pod) size {
	managed := pod.ManagedFields
	pod.ManagedFields = nil
	return size{own: jsonBytes(pod), managed: jsonBytes(managed)}
}

func jsonBytes(o any) int {
	text, _ := json.Marshal(o) // what was read as JSON is JSON
	return len(text)
}
