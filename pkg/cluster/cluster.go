package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/nodes"
	"github.com/trainingjob/operator/pkg/state"
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
	writes  *slots
	options Options

	mu   sync.Mutex
	jobs map[client.ObjectKey]*jobMemo
	// served are the gang schedulers whose pod groups the cluster has.
	served  []v1alpha1.Gang
	startup startupList
}

// jobMemo is what this process remembers of a job. Losing it costs a request, never a decision.
type jobMemo struct {
	// uid is the job's: another job of its name begins with nothing but the pending writes, as it waits for the pods of the former one.
	uid types.UID
	// recorded is when the job's status was last written.
	recorded time.Time
	// excluded is whether an Event about the job's namespace was written.
	excluded bool
	// verified is whether the job was once compared with the API server.
	verified bool
	// replicas and spares are what the API server refuses of the job; everything but spares counts with the replicas.
	replicas, spares refused
	failedSpares     failedSpares
	// pendingWrites are the own writes to the job's pods, by UID, that the cache does not show yet; nil if it shows them all.
	pendingWrites map[types.UID]pendingWrite
	// unrestartable are the pods that the API server has refused to have restarted in place.
	unrestartable map[types.UID]bool
	// gone are the last versions of pods that are gone, by name, until it is known that the job does not miss them.
	gone map[string]state.Pod
	// found are pods as the API server has them, by name, which the cache does not show, or shows otherwise.
	found map[string]found
	// homes are where the job's latest pods are, or were.
	homes map[state.Slot]home
	// foreign is the pod, of a life that the job never had, about which an Event was written.
	foreign types.UID
	// awaited are the pods for which the job waits.
	awaited awaited
	// ahead is the renewal of the progress Lease that was last seen from the future.
	ahead ahead
}

// Options are what the operator's user sets for all jobs.
type Options struct {
	// Parallel is how many requests for children are under way at most; with 1 they are made in the order of the steps.
	Parallel int
	// Namespaces are those whose jobs this operator runs; empty means all.
	Namespaces []string
	// Excluded are the namespaces in which it runs no job.
	Excluded []string
	// WatchNodes is whether the operator may read nodes; without them no pod counts as lost with its node.
	WatchNodes bool
	// LostAfter is how long a node may be not ready before its pods count as lost.
	LostAfter time.Duration
	// MaxCheckpointWait is how long ranks may save a checkpoint before they are stopped, whatever progress.checkpointGraceSeconds is.
	MaxCheckpointWait time.Duration
	// Signals are the actions for unhealthy nodes.
	Signals nodes.Signals
	// Gang schedules the pods of jobs that do not say who does; empty is GangNone.
	Gang v1alpha1.Gang
	// SparePriorityClass is the priority class of placeholder pods whose job names none.
	SparePriorityClass string
}

// New returns a Cluster that reads through the cache of c, and through live where a stale answer could do harm.
func New(c client.Client, live client.Reader, recorder events.EventRecorder, clock clock.PassiveClock, options Options) *Cluster {
	return &Cluster{
		client: c, live: fairReader{live, newSlots(options.Parallel)}, events: recorder, clock: clock,
		writes: newSlots(options.Parallel), options: options, jobs: map[client.ObjectKey]*jobMemo{},
	}
}

// Index adds the indexes that pods are listed by. It returns an error once the cache has started.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &corev1.Pod{}, podsOfJob, func(o client.Object) []string {
		if ref := controllerOf(o); ref != nil {
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
		if ref := controllerOf(&pods.Items[i]); ref != nil {
			jobs = append(jobs, client.ObjectKey{Namespace: pods.Items[i].Namespace, Name: ref.Name})
		}
	}
	slices.SortFunc(jobs, func(a, b client.ObjectKey) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(jobs), nil
}

// controllerOf returns the reference to the TrainingJob that controls the object, or nil.
func controllerOf(o metav1.Object) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil || ref.Kind != v1alpha1.Kind || ref.APIVersion != v1alpha1.GroupVersion.String() {
		return nil
	}
	return ref
}

func isControlledBy(o metav1.Object, job *v1alpha1.TrainingJob) bool {
	ref := controllerOf(o)
	return ref != nil && ref.UID == job.UID
}

// memo changes what is remembered of a job, and returns a copy of it. With a nil change it only reads.
func (c *Cluster) memo(job *v1alpha1.TrainingJob, change func(*jobMemo)) jobMemo {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := client.ObjectKeyFromObject(job)
	m := c.jobs[key]
	switch {
	case m == nil:
		m = &jobMemo{uid: job.UID}
	case m.uid != job.UID:
		m = &jobMemo{uid: job.UID, pendingWrites: m.pendingWrites}
	}
	if change != nil {
		change(m)
		c.jobs[key] = m
	}
	return *m
}

// forget drops what is remembered of the job of that name, which is gone.
func (c *Cluster) forget(key client.ObjectKey) {
	c.mu.Lock()
	m := c.jobs[key]
	delete(c.jobs, key)
	c.mu.Unlock()
	if m != nil {
		c.startup.remove(m.uid)
	}
}
