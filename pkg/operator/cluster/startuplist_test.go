package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// registry is an API server with jobs and pods that counts its requests by kind.
type registry struct {
	client.Reader
	jobs        []*v1alpha1.TrainingJob
	pods        []*corev1.Pod
	gets, lists int
	largest     int // number of objects in one answer
	namespaces  []string
}

func (r *registry) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	r.gets++
	for _, job := range r.jobs {
		if job.Name == key.Name {
			job.DeepCopyInto(o.(*v1alpha1.TrainingJob))
			return nil
		}
	}
	return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("trainingjobs").GroupResource(), key.Name)
}

func (r *registry) List(_ context.Context, l client.ObjectList, options ...client.ListOption) error {
	r.lists++
	list := l.(*metav1.PartialObjectMetadataList)
	chosen := (&client.ListOptions{}).ApplyOptions(options)
	r.namespaces = append(r.namespaces, chosen.Namespace)
	if list.Kind == "PodList" {
		for _, pod := range r.pods {
			if chosen.LabelSelector.Matches(labels.Set(pod.Labels)) {
				list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta})
			}
		}
	} else {
		for _, job := range r.jobs {
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: job.ObjectMeta})
		}
	}
	r.cut(list, chosen)
	return nil
}

// cut reduces the list to the requested page.
func (r *registry) cut(list *metav1.PartialObjectMetadataList, chosen *client.ListOptions) {
	from, _ := strconv.Atoi(chosen.Continue)
	list.Items = list.Items[from:]
	if n := int(chosen.Limit); n > 0 && n < len(list.Items) {
		list.Items, list.Continue = list.Items[:n], strconv.Itoa(from+n)
	}
	r.largest = max(r.largest, len(list.Items))
}

func running(name, version string) *v1alpha1.TrainingJob {
	job := builder.Job(name, builder.Workers(1))
	job.ResourceVersion, job.Status.ObservedGeneration = version, 1
	meta.SetStatusCondition(&job.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionRunning, Status: metav1.ConditionTrue})
	return job
}

func podWith(job *v1alpha1.TrainingJob, uid string) *corev1.Pod {
	pod := controlled(job)
	pod.UID = types.UID(uid)
	return pod
}

func TestAllJobsOfAStartAreComparedByOneList(t *testing.T) {
	a, b := running("a", "100"), running("b", "7")
	server := &registry{jobs: []*v1alpha1.TrainingJob{a, b}, pods: []*corev1.Pod{podWith(a, "a-0"), podWith(b, "b-0")}}
	c, _ := refusing()
	c.live = server
	for _, job := range server.jobs {
		if err := c.verify(t.Context(), job, []corev1.Pod{*podWith(job, job.Name+"-0")}); err != nil {
			t.Errorf("job %s: %v", job.Name, err)
		}
	}
	if server.gets != 0 || server.lists != 2 {
		t.Errorf("%d objects read, %d lists: want none and 2, of jobs and of pods", server.gets, server.lists)
	}
}

func TestTheStartupListIsOfTheNamespacesOfTheOperator(t *testing.T) {
	job := running("a", "100")
	for _, want := range [][]string{{"", ""}, {"red", "blue", "red", "blue"}} {
		server := &registry{jobs: []*v1alpha1.TrainingJob{job}, pods: []*corev1.Pod{podWith(job, "a-0")}}
		c, _ := refusing()
		c.live = server
		if c.options.Namespaces = want[:len(want)/2]; want[0] == "" {
			c.options.Namespaces = nil
		}
		if err := c.verify(t.Context(), job, []corev1.Pod{*podWith(job, "a-0")}); err != nil || !slices.Equal(server.namespaces, want) {
			t.Errorf("error %v, listed in namespaces %q, want %q", err, server.namespaces, want)
		}
	}
}

// An operator that starts in a cluster of 50,000 pods has no memory for all their metadata at once.
func TestTheStartupListIsReadInPages(t *testing.T) {
	job := running("a", "100")
	server := &registry{jobs: []*v1alpha1.TrainingJob{job}}
	var cached []corev1.Pod
	for i := range 1234 {
		pod := podWith(job, fmt.Sprintf("a-%d", i))
		server.pods, cached = append(server.pods, pod), append(cached, *pod)
	}
	c, _ := refusing()
	c.live = server
	if err := c.verify(t.Context(), job, cached); err != nil || server.gets > 0 {
		t.Errorf("a cache that has all pods: %v, %d objects read besides", err, server.gets)
	}
	if server.largest > 20 || server.lists != 63 {
		t.Errorf("%d answers, the largest with %d objects: want 63 with 20 at most", server.lists, server.largest)
	}
	c, _ = refusing()
	c.live = server
	if err := c.verify(t.Context(), job, cached[:1233]); !apierrors.IsConflict(err) {
		t.Errorf("a cache without the pod of the last page: %v, want a conflict", err)
	}
}

func TestWhenTheListLeavesADoubtTheJobIsComparedByItself(t *testing.T) {
	for name, c := range map[string]struct {
		cached   string // resourceVersion
		pods     []string
		before   func(*Cluster, *v1alpha1.TrainingJob)
		conflict bool
		former   string // pod of a former job of that name
	}{
		"a former job's pod is not in the cache": {cached: "100", pods: []string{"a-0"}, former: "old", conflict: true},
		"the cache is older than the list":       {cached: "99", pods: []string{"a-0"}, conflict: true},
		"a pod is not in the cache":              {cached: "100", conflict: true},
		"a write's answer was lost": {cached: "100", pods: []string{"a-0"}, before: func(c *Cluster, job *v1alpha1.TrainingJob) {
			_ = c.verify(context.Background(), job, []corev1.Pod{*podWith(job, "a-0")})
			c.memo(job, func(m *jobMemo) { m.verified = false })
		}},
		"the job came later": {cached: "100", pods: []string{"a-0"}, before: func(c *Cluster, job *v1alpha1.TrainingJob) {
			c.startup.loaded = true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			live := running("a", "100")
			server := &registry{jobs: []*v1alpha1.TrainingJob{live}, pods: []*corev1.Pod{podWith(live, "a-0")}}
			if c.former != "" {
				before := running("a", "50")
				before.UID = "former"
				server.pods = append(server.pods, podWith(before, c.former))
			}
			known, _ := refusing()
			known.live = server
			cached := running("a", c.cached)
			var pods []corev1.Pod
			for _, uid := range c.pods {
				pods = append(pods, *podWith(cached, uid))
			}
			if c.before != nil {
				c.before(known, cached)
			}
			if err := known.verify(t.Context(), cached, pods); apierrors.IsConflict(err) != c.conflict || server.gets != 1 {
				t.Errorf("got %v after %d reads of the job, want a conflict %t after 1", err, server.gets, c.conflict)
			}
		})
	}
}

// A new leader's cache may show a new job, which has no status yet, and not the pods of a deleted job of the same name.
func TestANewJobOfAListedNameIsComparedWithTheAPIServer(t *testing.T) {
	former := running("a", "50")
	former.UID = "former"
	for name, listed := range map[string][]*v1alpha1.TrainingJob{"the former job is listed": {former}, "only its pod is": nil} {
		t.Run(name, func(t *testing.T) {
			server := &registry{jobs: listed, pods: []*corev1.Pod{podWith(former, "old")}}
			c, _ := refusing()
			c.live = server
			_ = c.verify(t.Context(), running("b", "60"), nil) // the list is read
			c.forget(client.ObjectKeyFromObject(former))
			job := builder.Job("a", builder.Workers(1))
			job.ResourceVersion, server.jobs = "100", []*v1alpha1.TrainingJob{job}
			if err := c.verify(t.Context(), job, nil); !apierrors.IsConflict(err) {
				t.Errorf("a cache without the former job's pod: %v, want a conflict", err)
			}
			if err := c.verify(t.Context(), job, []corev1.Pod{*podWith(former, "old")}); err != nil {
				t.Errorf("a cache with it: %v", err)
			}
		})
	}
}
