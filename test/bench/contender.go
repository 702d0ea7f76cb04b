package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/bench/results"
)

// recovery is what a job does when one of its pods fails.
type recovery string

const (
	// whole makes all pods again; what has no such thing does by it what it does best.
	whole recovery = "whole"
	// single makes the failed pod again.
	single recovery = "single"
)

// contender is a kind of job that is measured beside others.
type contender struct {
	name string
	// peers are those of the lab that run for it; the last one is what its version is told by.
	peers []string
	// processes are those of its controllers in the lab; none if they are Kubernetes' own.
	processes []string
	// asks are how the users, or the user agents, of its controllers' requests begin.
	asks []string
	// namespace is where its jobs are; empty for the bench's.
	namespace string
	// kinds are what it submits, to be deleted afterwards.
	kinds []client.Object
	// shared is submitted once, before the jobs; nil for nothing.
	shared func(*bench, recovery) ([]client.Object, error)
	// job is the i-th of the shape's jobs; nil for pods by hand.
	job func(b *bench, i int, s shape, r recovery) ([]client.Object, error)
	// hand is how pods are made by hand; nil where a controller makes them.
	hand *hand
	// speed is how its peers are set; empty for as fast as their settings let them be.
	speed string
	// keepsPods is whether its whole restart keeps the pods that are well.
	keepsPods bool
	// restartsContainers is whether its pods' restart policy is Always: an exit shows as the restart of a container, never as a failed pod.
	restartsContainers bool
	// only are the rows that it is measured in; nil for all.
	only []string
	// cannot says of a row why it has no figure.
	cannot map[string]string
}

// contenders are measured in this order; the first is the limit.
func contenders() []contender {
	all := []contender{
		podsByHand, objectsByHand, patchedByHand, trainingJob, trainingJobRecreated,
		{name: "batch/v1 Job", kinds: []client.Object{&batchv1.Job{}}, job: recoveringBatchJob, cannot: map[string]string{
			rowRestart: "has no such policy",
		}},
		jobSet, pyTorchObjects, pyTorchJob, servedPyTorchJob, bareServedPyTorchJob, tfJob, trainJob, servedTrainJob, volcanoJob, leaderWorkerSet,
	}
	for _, c := range all {
		if len(c.peers) > 0 && c.name != servedTrainJob.name {
			all = append(all, asShipped(c))
		}
	}
	return all
}

// asShipped is the contender with the limits on requests and the threads that its peers ship with. At rest, and while a node is lost, they
// do not bind.
func asShipped(c contender) contender {
	c.name, c.speed, c.only = c.name+results.AsShipped, "shipped", []string{rowLarge, rowSmall, rowHuge, rowRestart, rowReplace}
	return c
}

// trainingJob restarts in place, as a PyTorch job does by default.
var trainingJob = contender{
	name: "TrainingJob", processes: []string{"operator"}, asks: []string{"trainingjob-operator/"},
	kinds: []client.Object{&v1alpha1.TrainingJob{}}, job: recoveringJob, keepsPods: true,
}

// trainingJobRecreated restarts with new pods.
var trainingJobRecreated = contender{
	name: "TrainingJob, all pods new", processes: trainingJob.processes, asks: trainingJob.asks, kinds: trainingJob.kinds,
	job: recreatedJob, only: []string{rowRestart},
}

func recreatedJob(b *bench, i int, s shape, _ recovery) ([]client.Object, error) {
	job := b.trainingJob("train", i, s)
	job.Spec.Recovery.RestartMethod = v1alpha1.RestartRecreate
	return []client.Object{job}, nil
}

// recoveringJob recovers as the framework does by default: a collective as a whole, a custom program pod by pod.
func recoveringJob(b *bench, i int, s shape, r recovery) ([]client.Object, error) {
	job := b.trainingJob("train", i, s)
	if r == single {
		job.Spec.Framework = v1alpha1.Custom
	}
	return []client.Object{job}, nil
}

func recoveringBatchJob(b *bench, i int, s shape, _ recovery) ([]client.Object, error) {
	job := b.batchJob(i, s)
	job.Spec.BackoffLimit = ptr.To[int32](100)
	return []client.Object{job}, nil
}

// kind is a kind of a peer, written as YAML. In it stand $PODS, $PEERS (the pods but one), $TEMPLATE (of the pods), $SHARED, and what
// recoveries says of a recovery.
type kind struct {
	yaml string
	// container is the name that the pods' container must have.
	container string
	// restart is the pods' restart policy.
	restart    corev1.RestartPolicy
	recoveries map[recovery]map[string]string
}

func (k kind) job(b *bench, i int, s shape, r recovery) ([]client.Object, error) {
	object, err := k.expanded(b, s, r)
	if err != nil {
		return nil, err
	}
	return []client.Object{named(object, b.meta(strings.ToLower(object.GetKind()), i))}, nil
}

func named(object *unstructured.Unstructured, meta metav1.ObjectMeta) *unstructured.Unstructured {
	object.SetName(meta.Name)
	object.SetNamespace(meta.Namespace)
	object.SetLabels(meta.Labels)
	return object
}

// sharedKind is what the name of an object says that all jobs refer to.
const sharedKind = "shared"

// shared is the object of this kind that all jobs refer to, as $SHARED.
func (k kind) shared(b *bench, r recovery) ([]client.Object, error) {
	object, err := k.expanded(b, shape{1, 1}, r)
	if err != nil {
		return nil, err
	}
	return []client.Object{named(object, b.meta(sharedKind, 0))}, nil
}

// object is an empty object of the kind.
func (k kind) object() *unstructured.Unstructured {
	var head unstructured.Unstructured
	for line := range strings.Lines(k.yaml) {
		if version, found := strings.CutPrefix(line, "apiVersion: "); found {
			head.SetAPIVersion(strings.TrimSpace(version))
		}
		if name, found := strings.CutPrefix(line, "kind: "); found {
			head.SetKind(strings.TrimSpace(name))
		}
	}
	return &head
}

func (k kind) expanded(b *bench, s shape, r recovery) (*unstructured.Unstructured, error) {
	template := b.template()
	if k.container != "" {
		template.Spec.Containers[0].Name = k.container
	}
	if k.restart != "" {
		template.Spec.RestartPolicy = k.restart
	}
	encoded, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encoding a pod template: %w", err)
	}
	values := map[string]string{
		"PODS": fmt.Sprint(s.pods), "PEERS": fmt.Sprint(s.pods - 1), "TEMPLATE": string(encoded),
		"SHARED": b.name(sharedKind, 0),
	}
	text := os.Expand(k.yaml, func(name string) string { return values[name] + k.recoveries[r][name] })
	object := &unstructured.Unstructured{}
	err = utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096).Decode(object)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the %s of the bench: %w", k.object().GetKind(), err)
	}
	return object, nil
}

// submit submits all jobs of the shape.
func (c contender) submit(ctx context.Context, b *bench, s shape, r recovery) error {
	if c.hand != nil {
		return c.hand.make(ctx, b, s)
	}
	if c.shared != nil {
		objects, err := c.shared(b, r)
		if err != nil {
			return err
		}
		if err := b.createObjects(ctx, objects); err != nil {
			return err
		}
	}
	return eachJob(s, func(i int) error {
		objects, err := c.job(b, i, s, r)
		if err != nil {
			return err
		}
		return b.createObjects(ctx, objects)
	})
}

func (b *bench) createObjects(ctx context.Context, objects []client.Object) error {
	for _, object := range objects {
		if err := b.client.Create(ctx, object); err != nil {
			return fmt.Errorf("submitting %s: %w", object.GetName(), err)
		}
	}
	return nil
}
