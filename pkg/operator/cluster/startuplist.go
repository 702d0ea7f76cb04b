package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// startupList is the API server's list of all jobs when this process first observed one, with the writes of the previous leader.
// One list instead of a read for each job lets an operator with hundreds of jobs start at once. A name stays on the list until a job of
// that name is verified.
type startupList struct {
	mu     sync.Mutex
	loaded bool
	jobs   map[client.ObjectKey]*listedJob
}

// listedJob is one name on the list: the UID and resourceVersion of its job, empty if only pods of earlier jobs of that name exist, and all
// pods of jobs of that name.
type listedJob struct {
	uid     types.UID
	version string
	pods    []types.UID
}

// isFresh reports whether the job's name is on the startup list, and whether the cached job and pods are no older than the list. A
// listed pod that is not in the cache may be gone, or the cache may be old: then they do not count as fresh.
func (c *Cluster) isFresh(ctx context.Context, job *v1alpha1.TrainingJob, cached map[types.UID]bool) (known, fresh bool, err error) {
	c.startup.mu.Lock()
	defer c.startup.mu.Unlock()
	if !c.startup.loaded {
		if c.startup.jobs, err = c.listAll(ctx); err != nil {
			return false, false, err
		}
		c.startup.loaded = true
	}
	entry := c.startup.jobs[client.ObjectKeyFromObject(job)]
	switch {
	case entry == nil:
		return false, false, nil
	case entry.uid != job.UID: // a cache that shows this job may not show the pods of the one before
		return true, false, nil
	}
	if order, err := resourceversion.CompareResourceVersion(job.ResourceVersion, entry.version); err != nil || order < 0 {
		return true, false, nil //nolint:nilerr // versions that cannot be compared do not count as fresh
	}
	for _, pod := range entry.pods {
		if !cached[pod] {
			return true, false, nil
		}
	}
	return true, true, nil
}

var podList = corev1.SchemeGroupVersion.WithKind("PodList")

// page is how many objects one answer of the API server holds. Users may attach a megabyte to each, and an answer is decoded
// whole: pages of 500 took 900 MB.
const page = 20

// listAll lists the versions of all jobs, and their pods, from the API server.
func (c *Cluster) listAll(ctx context.Context) (map[client.ObjectKey]*listedJob, error) {
	all := map[client.ObjectKey]*listedJob{}
	err := c.eachLive(ctx, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind+"List"), func(job *metav1.PartialObjectMetadata) {
		all[client.ObjectKeyFromObject(job)] = &listedJob{uid: job.UID, version: job.ResourceVersion}
	})
	if err != nil {
		return nil, fmt.Errorf("listing all jobs from the API server: %w", err)
	}
	err = c.eachLive(ctx, podList, func(pod *metav1.PartialObjectMetadata) {
		ref := state.OwnerOf(pod)
		if ref == nil {
			return
		}
		name := client.ObjectKey{Namespace: pod.Namespace, Name: ref.Name}
		if all[name] == nil {
			all[name] = &listedJob{}
		}
		all[name].pods = append(all[name].pods, pod.UID)
	}, client.HasLabels{v1alpha1.LabelJobUID})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of all jobs from the API server: %w", err)
	}
	return all, nil
}

// eachLive calls see with the metadata of each object of the kind from the API server, in the operator's namespaces. see must
// keep no part of it.
func (c *Cluster) eachLive(ctx context.Context, kind schema.GroupVersionKind, see func(*metav1.PartialObjectMetadata), options ...client.ListOption) error {
	for _, namespace := range c.namespaces() {
		if err := c.eachLiveIn(ctx, kind, see, append(slices.Clone(options), client.InNamespace(namespace))); err != nil {
			return err
		}
	}
	return nil
}

// namespaces returns the namespaces to list from one by one. The only one is "" if the operator runs the jobs of all namespaces.
func (c *Cluster) namespaces() []string {
	if len(c.options.Namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return c.options.Namespaces
}

func (c *Cluster) eachLiveIn(ctx context.Context, kind schema.GroupVersionKind, see func(*metav1.PartialObjectMetadata), options []client.ListOption) error {
	next := ""
	for {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := c.live.List(ctx, list, slices.Concat(options, []client.ListOption{client.Limit(page), client.Continue(next)})...); err != nil {
			return err
		}
		for i := range list.Items {
			see(&list.Items[i])
		}
		if next = list.Continue; next == "" {
			return nil
		}
	}
}

// remove takes the job's name off the list, which does not show later writes.
func (l *startupList) remove(job *v1alpha1.TrainingJob) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.jobs, client.ObjectKeyFromObject(job))
}
