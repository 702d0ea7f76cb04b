package operator

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/cluster"
	"github.com/trainingjob/operator/pkg/controller"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/sim/server"
)

// hear does with what the cache takes in what the watches of the controller do: of the job every change asks for a look, of what it
// owns every change, of pods and nodes what the controller says.
func (p *Process) hear(kind server.Kind, was, is client.Object) {
	o := is
	if o == nil {
		o = was
	}
	switch kind {
	case server.Jobs:
		p.awake = p.awake || client.ObjectKeyFromObject(o) == p.key
	case server.Services, server.PodGroups:
		p.awake = p.awake || p.owns(o)
	case server.Leases:
		if p.owns(o) {
			p.lookAfter(controller.LeaseDelay(was, is))
		}
	case server.Pods:
		before, _ := was.(*corev1.Pod)
		after, _ := is.(*corev1.Pod)
		if after == nil {
			p.cluster.SawGone(before)
		}
		if wait, asked := controller.PodDelay(p.cluster, before, after); asked && p.owns(o) {
			p.lookAfter(wait)
		}
	case server.Nodes:
		before, _ := was.(*corev1.Node)
		after, _ := is.(*corev1.Node)
		p.awake = p.awake || controller.NodeMatters(before, after) && p.isOn(o.GetName())
	}
}

// owns reports whether a job of the process's name owns the object.
func (p *Process) owns(o client.Object) bool {
	ref := state.OwnerOf(o)
	return ref != nil && ref.Name == p.key.Name && o.GetNamespace() == p.key.Namespace
}

// isOn reports whether the job has a pod on the node, as the cache has it. No fault hits this read: its source is memory.
func (p *Process) isOn(node string) bool {
	reader := &server.Client{Reader: &server.Reader{Source: p.Cache, Indexes: indexes}}
	jobs, err := cluster.New(reader, reader, nil, p.world.Clock, options).JobsOnNode(context.Background(), node)
	if err != nil {
		panic(err)
	}
	return slices.Contains(jobs, p.key)
}

// lookAfter asks for a look after that time, unless one is asked for that comes sooner.
func (p *Process) lookAfter(wait time.Duration) {
	at := p.world.Clock.Now().Add(wait)
	if p.wake.IsZero() || at.Before(p.wake) {
		p.wake = at
	}
}
