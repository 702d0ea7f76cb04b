package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/state"
)

// addressesInSlice is how many addresses an EndpointSlice holds at most, as the API server allows.
const addressesInSlice = 1000

// naming is one way to give the pods of a job their names.
type naming struct {
	name string
	// selects returns what the Service selects by; nil for a Service whose EndpointSlices somebody else writes, or for no Service.
	selects func(*v1alpha1.TrainingJob) map[string]string
	// writes says that the bench writes the EndpointSlices once all pods run.
	writes bool
}

var namings = []naming{
	{name: "no names"},
	{name: "leader", selects: func(job *v1alpha1.TrainingJob) map[string]string {
		return map[string]string{v1alpha1.LabelJobUID: string(job.UID), v1alpha1.LabelRank: "0"}
	}},
	{name: "all", selects: func(job *v1alpha1.TrainingJob) map[string]string {
		return map[string]string{v1alpha1.LabelJobUID: string(job.UID)}
	}},
	{name: "all, written once", writes: true},
}

func namesCommand(o *options) *cobra.Command {
	var sizes []int
	cmd := &cobra.Command{
		Use:   "names",
		Short: "Measures what it costs to give the pods of a job their DNS names, by a Service over all, over the leader alone, or EndpointSlices written once",
		Args:  cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := newBench(*o)
			if err != nil {
				return err
			}
			for _, pods := range sizes {
				if err := b.names(cmd.Context(), pods); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().IntSliceVar(&sizes, "sizes", []int{512, 2000, 10_000}, "pods of the job")
	return cmd
}

// names makes the pods of a PyTorch job by hand under each naming in turn, and prints how fast they run and what was written for their names.
func (b *bench) names(ctx context.Context, pods int) error {
	type sums struct {
		rate, writes, bytes []float64
	}
	results := map[string]*sums{}
	for range b.rounds {
		for _, n := range namings {
			rate, seen, err := b.named(ctx, n, pods)
			if err != nil {
				return fmt.Errorf("%s, %d pods: %w", n.name, pods, err)
			}
			if results[n.name] == nil {
				results[n.name] = &sums{}
			}
			r := results[n.name]
			r.rate, r.writes, r.bytes = append(r.rate, rate), append(r.writes, float64(seen.writes.Load())), append(r.bytes, float64(seen.bytes.Load()))
		}
	}
	fmt.Printf("Names of %d pods made by hand, from the first request until all run (and have names):\n", pods)
	limit := middle(results[namings[0].name].rate)
	for _, n := range namings {
		r := results[n.name]
		fmt.Printf("  %-18s %6.1f pods/s  %.2f  %5.0f writes of EndpointSlices and Endpoints, %.1f MB to each who watches them\n",
			n.name, middle(r.rate), middle(r.rate)/limit, middle(r.writes), middle(r.bytes)/1e6)
	}
	fmt.Println()
	return nil
}

// traffic counts what was written for names.
type traffic struct{ writes, bytes atomic.Int64 }

// named makes the pods under one naming and returns their rate in pods per second, and what was written for their names.
func (b *bench) named(ctx context.Context, n naming, pods int) (float64, *traffic, error) {
	ctx, cancel := context.WithTimeout(ctx, scalePatience)
	defer cancel()
	seen, stop, err := b.watchNames(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer stop()
	running, err := b.watchRunning(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer running.Stop()
	job := b.trainingJob("names", b.another(), shape{1, pods})
	job.UID = "bench-names"
	begin := time.Now()
	if n.selects != nil || n.writes {
		service := build.Service(job, framework.Ports(job))
		service.OwnerReferences, service.Labels[benchLabel], service.Spec.Selector = nil, "service", nil
		if n.selects != nil {
			service.Spec.Selector = n.selects(job)
		}
		if err := b.client.Create(ctx, service); err != nil {
			return 0, nil, err
		}
	}
	environment := framework.Environment(job)
	err = eachOf(ctx, pods, func(ctx context.Context, i int) error {
		slot := state.Slot{Role: v1alpha1.Worker, Index: i}
		pod := build.Pod(job, slot, state.Life{}, environment(slot), nil)
		pod.OwnerReferences = nil
		return b.client.Create(ctx, pod)
	})
	if err != nil {
		return 0, nil, err
	}
	if err := awaitRunning(ctx, running, pods); err != nil {
		return 0, nil, err
	}
	if n.writes {
		if err := b.writeSlices(ctx, job); err != nil {
			return 0, nil, err
		}
	}
	rate := float64(pods) / time.Since(begin).Seconds()
	return rate, seen, b.cleanUp(ctx, maker{kinds: []client.Object{&corev1.Pod{}, &corev1.Service{}, &discoveryv1.EndpointSlice{}}})
}

// watchNames counts what is written for names until it is stopped.
func (b *bench) watchNames(ctx context.Context) (*traffic, func(), error) {
	seen := &traffic{}
	var watches []watch.Interface
	stop := func() {
		for _, w := range watches {
			w.Stop()
		}
	}
	for _, kind := range []schema.GroupVersionKind{discoveryv1.SchemeGroupVersion.WithKind("EndpointSliceList"), corev1.SchemeGroupVersion.WithKind("EndpointsList")} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		w, err := b.client.Watch(ctx, list, client.InNamespace(b.namespace))
		if err != nil {
			stop()
			return nil, nil, fmt.Errorf("watching names: %w", err)
		}
		watches = append(watches, w)
		go seen.count(w)
	}
	return seen, stop, nil
}

// count counts the events of the watch until it ends.
func (t *traffic) count(w watch.Interface) {
	for e := range w.ResultChan() {
		if o, is := e.Object.(*unstructured.Unstructured); is {
			text, _ := o.MarshalJSON() // what was read as JSON is JSON
			t.writes.Add(1)
			t.bytes.Add(int64(len(text)))
		}
	}
}

// writeSlices gives all pods of the job their names, as an operator could once it knows all addresses.
func (b *bench) writeSlices(ctx context.Context, job *v1alpha1.TrainingJob) error {
	var pods corev1.PodList
	if err := b.client.List(ctx, &pods, client.InNamespace(b.namespace), client.MatchingLabels{benchLabel: "pod"}); err != nil {
		return fmt.Errorf("reading the addresses: %w", err)
	}
	for chunk := range slices.Chunk(pods.Items, addressesInSlice) {
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{GenerateName: job.Name + "-", Namespace: job.Namespace,
				Labels: map[string]string{discoveryv1.LabelServiceName: job.Name, benchLabel: "slice"}},
			AddressType: discoveryv1.AddressTypeIPv4,
		}
		for i := range chunk {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{chunk[i].Status.PodIP}, Hostname: &chunk[i].Spec.Hostname})
		}
		if err := b.client.Create(ctx, slice); err != nil {
			return fmt.Errorf("writing names: %w", err)
		}
	}
	return nil
}
