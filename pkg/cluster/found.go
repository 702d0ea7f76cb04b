package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// foundFor is how long the API server's answer about a pod counts that the cache does not show, or shows otherwise. The watch does not
// report changes of a pod that lost the label by which the cache selects.
const foundFor = 30 * time.Second

// found is a pod as the API server has it.
type found struct {
	pod   state.Pod
	until time.Time
}

// find returns the job's pod of that name as the API server has it; nil if there is none. It remembers a pod that exists until the
// watch reports a change of that name, or the operator writes to pods of the job. Without that a pod without its label would cost a
// request in each pass.
func (c *Cluster) find(ctx context.Context, job *v1alpha1.TrainingJob, name string) (*state.Pod, error) {
	if known, isKnown := c.foundBefore(job, name); isKnown {
		return &known, nil
	}
	var pod corev1.Pod
	if err := c.live.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: name}, &pod); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	p, _ := state.PodOf(job.Name, &pod)
	if !isControlledBy(&pod, job) {
		return nil, nil
	}
	c.memo(job, func(m *jobMemo) {
		if m.awaited.heard[name] { // the answer may be older than that
			return
		}
		if m.found == nil {
			m.found = map[string]found{}
		}
		m.found[name] = found{pod: p, until: c.clock.Now().Add(foundFor)}
	})
	return &p, nil
}

func (c *Cluster) foundBefore(job *v1alpha1.TrainingJob, name string) (state.Pod, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.jobs[client.ObjectKeyFromObject(job)]
	if m == nil || m.uid != job.UID {
		return state.Pod{}, false
	}
	known, isKnown := m.found[name]
	return known.pod, isKnown && c.clock.Now().Before(known.until)
}

// fairReader reads from the API server. The reads of one namespace share slots like its writes, so that a namespace whose pods must be
// read by name does not delay the others.
type fairReader struct {
	client.Reader
	slots *slots
}

// Get reads one object once there is a slot.
func (r fairReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	release, err := r.slots.acquire(ctx, key.Namespace)
	if err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	defer release()
	return r.Reader.Get(ctx, key, o, options...)
}

// List reads a list once there is a slot.
func (r fairReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	release, err := r.slots.acquire(ctx, (&client.ListOptions{}).ApplyOptions(options).Namespace)
	if err != nil {
		return fmt.Errorf("reading a list: %w", err)
	}
	defer release()
	return r.Reader.List(ctx, list, options...)
}
