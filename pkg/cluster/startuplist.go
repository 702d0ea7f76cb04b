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
)

// startupList is what the API server had of all jobs when this process first observed one: what another leader wrote last. It
// is read once and not for each job, so that an operator that starts with hundreds of jobs begins at once.
type startupList struct {
	mu     sync.Mutex
	loaded bool
	jobs   map[types.UID]*listedJob
}

// listedJob is one job of the list: its resourceVersion, and its pods, with pods of old jobs of its name.
type listedJob struct {
	version string
	pods    []types.UID
}

// isFresh reports whether the job is on the startup list, and whether it and its pods, as cached, are no older than the list. A
// listed pod that is not in the cache may be gone by now, or the cache may be old: then they do not count as fresh.
func (c *Cluster) isFresh(ctx context.Context, job *v1alpha1.TrainingJob, cached map[types.UID]bool) (known, fresh bool, err error) {
	c.startup.mu.Lock()
	defer c.startup.mu.Unlock()
	if !c.startup.loaded {
		if c.startup.jobs, err = c.listAll(ctx); err != nil {
			return false, false, err
		}
		c.startup.loaded = true
	}
	entry := c.startup.jobs[job.UID]
	if entry == nil {
		return false, false, nil
	}
	if order, err := resourceversion.CompareResourceVersion(job.ResourceVersion, entry.version); err != nil || order < 0 {
		return true, false, nil //nolint:nilerr // versions that cannot be compared are a doubt
	}
	for _, pod := range entry.pods {
		if !cached[pod] {
			return true, false, nil
		}
	}
	return true, true, nil
}

var podList = corev1.SchemeGroupVersion.WithKind("PodList")

// page is how many objects one answer of the API server holds. Users may attach a megabyte to each, and an answer is decoded whole: pages
// of 500 took 900 MB.
const page = 20

// listAll reads the versions of all jobs and their pods from the API server.
func (c *Cluster) listAll(ctx context.Context) (map[types.UID]*listedJob, error) {
	all, names := map[types.UID]*listedJob{}, map[client.ObjectKey]*listedJob{}
	err := c.eachLive(ctx, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind+"List"), func(job *metav1.PartialObjectMetadata) {
		entry := &listedJob{version: job.ResourceVersion}
		all[job.UID], names[client.ObjectKeyFromObject(job)] = entry, entry
	})
	if err != nil {
		return nil, fmt.Errorf("listing all jobs from the API server: %w", err)
	}
	err = c.eachLive(ctx, podList, func(pod *metav1.PartialObjectMetadata) {
		if ref := controllerOf(pod); ref != nil {
			if entry := names[client.ObjectKey{Namespace: pod.Namespace, Name: ref.Name}]; entry != nil {
				entry.pods = append(entry.pods, pod.UID)
			}
		}
	}, client.HasLabels{v1alpha1.LabelJobUID})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of all jobs from the API server: %w", err)
	}
	return all, nil
}

// eachLive calls see with the metadata of each object of the kind, as the API server has it, in the namespaces whose jobs the operator runs.
// see must keep no part of it.
func (c *Cluster) eachLive(ctx context.Context, kind schema.GroupVersionKind, see func(*metav1.PartialObjectMetadata), options ...client.ListOption) error {
	for _, namespace := range c.namespaces() {
		if err := c.eachLiveIn(ctx, kind, see, append(slices.Clone(options), client.InNamespace(namespace))); err != nil {
			return err
		}
	}
	return nil
}

// namespaces returns the namespaces to list from one by one; the only one is "" if the operator runs the jobs of all.
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

// remove removes the job from the list, which has no later writes.
func (l *startupList) remove(job types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.jobs, job)
}
