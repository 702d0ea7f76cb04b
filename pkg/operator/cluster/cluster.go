package cluster

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/fair"
	"github.com/trainingjob/operator/pkg/operator/progress"
	"github.com/trainingjob/operator/pkg/operator/reads"
)

// podsOfJob is the index of pods by the name of the TrainingJob that controls them.
const podsOfJob = "trainingjob"

// podsOnNode is the index of pods by the name of their node.
const podsOnNode = "node"

// Cluster reads and writes jobs and their children.
type Cluster struct {
	client  client.Client
	live    client.Reader
	events  events.EventRecorder
	clock   clock.PassiveClock
	writes  *fair.Slots
	options Options

	mu   sync.Mutex
	jobs map[client.ObjectKey]*jobMemo
	// crowded is when a quota of a namespace that counts pods which have ended last refused one.
	crowded map[string]time.Time
	// gangs are the gang schedulers whose pod groups the cluster has.
	gangs   []v1alpha1.Gang
	startup startupList
}

// jobMemo is what this process remembers of a job. Losing it costs a request, never a decision.
type jobMemo struct {
	// uid is the job's UID. A new job of the same name keeps only the pending writes, because it waits for the old job's pods.
	uid types.UID
	// recorded is when the job's status was last written.
	recorded time.Time
	// excluded is whether an Event about the job's namespace was written.
	excluded bool
	// verified is whether the job was compared with the API server.
	verified bool
	// refused is the API server's latest refusal of a child.
	refused refused
	// pendingWrites are the own writes to the job's pods, by UID, that the cache does not show yet.
	pendingWrites map[types.UID]pendingWrite
	// unrestartable are the pods whose restart in place the API server has refused.
	unrestartable map[types.UID]bool
	// forced are the pods, by UID, that were deleted by force and may still exist.
	forced map[types.UID]forced
	// gone are the last versions of deleted pods, by name, until the snapshot shows that the job does not miss them.
	gone map[string]state.Pod
	// ended are the versions of pods of present lives in which they had ended, and were not deleted yet.
	ended map[types.UID]state.Pod
	// found are pods from the API server, by name, that the cache does not show, or shows in another state. absentPods are the names of pods
	// that neither has, and confirmed the nodes of these pods, as the API server had them.
	found      map[string]found
	absentPods map[string]bool
	confirmed  map[string]confirmedNode
	// previousNodes are the nodes of the job's latest pods. One of them may explain a restart of the whole job.
	previousNodes map[state.Slot]previousNode
	// absentNodes are the pods, by UID, on nodes that the API server lately did not have, and until when that counts.
	absentNodes map[types.UID]time.Time
	// foreign is the pod of a life that a version of the job never had, as the API server has confirmed.
	foreign foreign
	// changed are the pods with a watch event since the current reconcile began. Its reads may not show them.
	changed map[string]bool
	// ends are when the ends of the pods were first seen.
	ends map[types.UID]time.Time
}

// Options are the operator's settings for all jobs.
type Options struct {
	// Parallel is how many requests for children are made at once. With 1 they are made in the order of the steps.
	Parallel int
	// Namespaces are the namespaces whose jobs this operator runs; empty means all.
	Namespaces []string
	// Excluded are the namespaces where it runs no job.
	Excluded []string
	// WatchNodes is whether the operator may read nodes. Without it no pod counts as lost with its node.
	WatchNodes bool
	// LostAfter is how long a node may be not ready before its pods count as lost.
	LostAfter time.Duration
	// MaxCheckpointWait is how long ranks may save a checkpoint before they are stopped, whatever progress.checkpointGraceSeconds is.
	MaxCheckpointWait time.Duration
	// KeepsEnded is whether pods that can restart in place are kept when their process has ended.
	KeepsEnded bool
	// Signals are the signs of unhealthy nodes, and what is done about them.
	Signals nodes.Signals
	// Gang schedules the pods of jobs that name no gang scheduler; empty is GangNone.
	Gang v1alpha1.Gang
	// Reader makes the reads that plans want beside the reconciles; nil makes none.
	Reader reads.Reader
	// IsLocal is whether the jobs run without a cluster.
	IsLocal bool
	// Wake has a job reconciled soon; nil if there is only one.
	Wake func(client.ObjectKey)
	// Fence is where no page is read.
	Fence progress.Fence
	// PageAt returns the address of a pod's page, or why it is not read; nil for Fence.AddressOf.
	PageAt func(*state.Pod) (netip.AddrPort, error)
}

// New returns a Cluster that reads through the cache of c. It reads through live where a stale answer could do harm.
func New(c client.Client, live client.Reader, recorder events.EventRecorder, clock clock.PassiveClock, options Options) *Cluster {
	if options.Reader == nil {
		options.Reader = reads.None{}
	}
	if options.PageAt == nil {
		options.PageAt = options.Fence.AddressOf
	}
	return &Cluster{
		client: c, live: fair.Reader(live, options.Parallel), events: recorder, clock: clock,
		writes: fair.NewSlots(options.Parallel), options: options, jobs: map[client.ObjectKey]*jobMemo{}, crowded: map[string]time.Time{},
	}
}

// Index adds the indexes for listing pods. It returns an error once the cache has started.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &corev1.Pod{}, podsOfJob, func(o client.Object) []string {
		if ref := state.OwnerOf(o); ref != nil {
			return []string{ref.Name}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return indexer.IndexField(ctx, &corev1.Pod{}, podsOnNode, func(o client.Object) []string {
		if pod, isPod := o.(*corev1.Pod); isPod && pod.Spec.NodeName != "" {
			return []string{pod.Spec.NodeName}
		}
		return nil
	})
}

// JobsOnNode returns the jobs that have a pod on the node, sorted.
func (c *Cluster) JobsOnNode(ctx context.Context, node string) ([]client.ObjectKey, error) {
	var pods corev1.PodList
	if err := c.client.List(ctx, &pods, client.MatchingFields{podsOnNode: node}, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing the pods on node %s: %w", node, err)
	}
	var jobs []client.ObjectKey
	for i := range pods.Items {
		if ref := state.OwnerOf(&pods.Items[i]); ref != nil {
			jobs = append(jobs, client.ObjectKey{Namespace: pods.Items[i].Namespace, Name: ref.Name})
		}
	}
	slices.SortFunc(jobs, func(a, b client.ObjectKey) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(jobs), nil
}

// WaitingWrites returns how many writes wait for a slot.
func (c *Cluster) WaitingWrites() int { return c.writes.Waiting() }

func newMemo(job types.UID, pending map[types.UID]pendingWrite) *jobMemo {
	return &jobMemo{
		uid: job, pendingWrites: pending, unrestartable: map[types.UID]bool{}, forced: map[types.UID]forced{}, gone: map[string]state.Pod{}, ended: map[types.UID]state.Pod{}, found: map[string]found{},
		absentPods: map[string]bool{}, confirmed: map[string]confirmedNode{},
		previousNodes: map[state.Slot]previousNode{}, absentNodes: map[types.UID]time.Time{},
	}
}

// ownerMemo changes what is remembered about the job that owns the pod. It does nothing if no job owns it, or nothing is remembered.
func (c *Cluster) ownerMemo(pod *corev1.Pod, change func(*jobMemo)) {
	ref := state.OwnerOf(pod)
	if ref == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.jobs[client.ObjectKey{Namespace: pod.Namespace, Name: ref.Name}]; m != nil && m.uid == ref.UID {
		change(m)
	}
}

// memo changes what is remembered about a job, and returns a copy of it. With a nil change it only reads.
func (c *Cluster) memo(job *v1alpha1.TrainingJob, change func(*jobMemo)) jobMemo {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := client.ObjectKeyFromObject(job)
	m := c.jobs[key]
	switch {
	case m == nil:
		m = newMemo(job.UID, map[types.UID]pendingWrite{})
	case m.uid != job.UID:
		m = newMemo(job.UID, m.pendingWrites)
	}
	if change != nil {
		change(m)
		c.jobs[key] = m
	}
	return *m
}

func (c *Cluster) forget(key client.ObjectKey) {
	c.mu.Lock()
	delete(c.jobs, key)
	c.mu.Unlock()
	c.options.Reader.Forget(key)
}
