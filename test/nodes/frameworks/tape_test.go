//go:build frameworks

package frameworks

import (
	"bufio"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// A tape holds what was seen of a run, with the time at which it was seen or, of lines of a log, written. Pods that are gone
// are still on it.
type tape struct {
	sync.Mutex
	lines    []line
	pods     map[string]*podSeen
	restarts []time.Time // when the status first said so many
	signs    []time.Time // when a pod or a node was first seen to end, or was told to
}

type podSeen struct {
	created, running, ended time.Time
	life                    string
	// containers are those whose logs are read: one, and one more for each restart in the pod.
	containers []string
}

// A line of a program's log. Programs say step=12, loss=0.5 and attempt=1 in this form.
type line struct {
	pod, text string
	at        time.Time
}

var number = map[string]*regexp.Regexp{
	"step":    regexp.MustCompile(`\bstep=(\d+)\b`),
	"loss":    regexp.MustCompile(`\bloss=([\d.]+)`),
	"attempt": regexp.MustCompile(`\battempt=(\d+)\b`),
}

// value returns the number that the line gives, or -1.
func (l line) value(name string) float64 {
	found := number[name].FindStringSubmatch(l.text)
	if found == nil {
		return -1
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		return -1
	}
	return value
}

func (l line) isStep() bool  { return l.value("step") >= 0 && l.value("loss") >= 0 && !l.isDone() }
func (l line) isSaved() bool { return l.value("step") > 0 && strings.Contains(l.text, " saved") }
func (l line) isDone() bool  { return strings.Contains(l.text, " done loss=") }
func (l line) isMet() bool {
	return strings.Contains(l.text, " met the other ") || strings.Contains(l.text, " met servers")
}
func (l line) isLoad() bool { return strings.Contains(l.text, " starts from /") }

// find returns the lines that are so, in the order of their times.
func (t *tape) find(is func(line) bool) []line {
	t.Lock()
	defer t.Unlock()
	var found []line
	for _, l := range t.lines {
		if is(l) {
			found = append(found, l)
		}
	}
	slices.SortStableFunc(found, func(a, b line) int { return a.at.Compare(b.at) })
	return found
}

// first returns the time of the first such line after begin, zero if there is none.
func (t *tape) first(begin time.Time, is func(line) bool) time.Time {
	for _, l := range t.find(is) {
		if l.at.After(begin) {
			return l.at
		}
	}
	return time.Time{}
}

// record watches the namespace until ctx ends.
func (t *tape) record(ctx context.Context, namespace string) {
	go t.watch(ctx, namespace, &corev1.PodList{}, func(e watch.Event) { t.seePod(ctx, e) })
	go t.watch(ctx, namespace, &v1alpha1.TrainingJobList{}, t.seeJob)
	go t.watch(ctx, "", &corev1.NodeList{}, t.seeNode)
}

func (t *tape) watch(ctx context.Context, namespace string, list client.ObjectList, see func(watch.Event)) {
	for ctx.Err() == nil {
		w, err := kube.Watch(ctx, list, client.InNamespace(namespace))
		if err != nil {
			continue
		}
		for e := range w.ResultChan() {
			see(e)
		}
	}
}

func (t *tape) seeJob(e watch.Event) {
	job, is := e.Object.(*v1alpha1.TrainingJob)
	if !is {
		return
	}
	t.Lock()
	defer t.Unlock()
	for int32(len(t.restarts)) < job.Status.Restarts {
		t.restarts = append(t.restarts, time.Now())
	}
}

// seeNode notes when a node is not ready, or takes no more pods.
func (t *tape) seeNode(e watch.Event) {
	node, is := e.Object.(*corev1.Node)
	if !is || (isReady(*node) && !node.Spec.Unschedulable) {
		return
	}
	t.Lock()
	defer t.Unlock()
	t.signs = append(t.signs, time.Now())
}

func (t *tape) seePod(ctx context.Context, e watch.Event) {
	pod, is := e.Object.(*corev1.Pod)
	if !is {
		return
	}
	t.Lock()
	defer t.Unlock()
	seen := t.pods[pod.Name]
	if seen == nil {
		seen = &podSeen{created: time.Now(), life: pod.Labels[v1alpha1.LabelLife]}
		t.pods[pod.Name] = seen
	}
	if ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed; (ended || e.Type == watch.Deleted) && seen.ended.IsZero() {
		seen.ended = time.Now()
	}
	if e.Type == watch.Deleted || pod.DeletionTimestamp != nil || hasEnded(pod) {
		t.signs = append(t.signs, time.Now())
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running == nil && c.State.Terminated == nil || slices.Contains(seen.containers, c.ContainerID) {
			continue
		}
		if seen.containers = append(seen.containers, c.ContainerID); seen.running.IsZero() {
			seen.running = time.Now()
		}
		go t.follow(ctx, pod)
	}
}

// hasEnded tells whether a container has ended: pods say so before their phase does.
func hasEnded(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Terminated != nil })
}

// follow reads the log of the pod's present container to its end.
func (t *tape) follow(ctx context.Context, pod *corev1.Pod) {
	stream, err := logs.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Follow: true, Timestamps: true}).Stream(ctx)
	if err != nil {
		return
	}
	defer func() { _ = stream.Close() }()
	for scanner := bufio.NewScanner(stream); scanner.Scan(); {
		stamp, text, _ := strings.Cut(scanner.Text(), " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			continue
		}
		t.Lock()
		t.lines = append(t.lines, line{pod.Name, text, at})
		t.Unlock()
	}
}
