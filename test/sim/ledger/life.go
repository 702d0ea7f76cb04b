package ledger

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Life is what a pod's name says.
type Life struct {
	Role                        string
	Index, Attempt, Replacement int
}

// Slot returns the place in the job: "worker-1".
func (l Life) Slot() string { return l.Role + "-" + strconv.Itoa(l.Index) }

// Before reports whether l is an earlier life than m.
func (l Life) Before(m Life) bool {
	return cmp.Or(cmp.Compare(l.Attempt, m.Attempt), cmp.Compare(l.Replacement, m.Replacement)) < 0
}

var podName = regexp.MustCompile(`^([a-z][a-z0-9]{0,14})-(\d+)(?:-a(\d+)r(\d+))?$`)

// LifeOf reads the name that the operator gives to a pod of the job.
func LifeOf(job, name string) (Life, bool) {
	rest, isOurs := strings.CutPrefix(name, job+"-")
	if !isOurs {
		return Life{}, false
	}
	if known, isKnown := lives.Load(rest); isKnown {
		return known.(Life), true
	}
	parts := podName.FindStringSubmatch(rest)
	if parts == nil {
		return Life{}, false
	}
	number := func(i int) int { n, _ := strconv.Atoi(parts[i]); return n }
	is := Life{Role: parts[1], Index: number(2), Attempt: number(3), Replacement: number(4)}
	lives.Store(rest, is)
	return is, true
}

// lives are names that were read before: the simulator asks for the same ones millions of times.
var lives sync.Map

// CanRun reports whether the pod has not ended.
func CanRun(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// HasEnded reports whether all containers of the pod have ended. A kubelet says so a second or two before it writes the phase.
func HasEnded(pod *corev1.Pod) bool {
	runs := func(c corev1.ContainerStatus) bool { return c.State.Terminated == nil }
	return !CanRun(pod) || len(pod.Status.ContainerStatuses) > 0 && !slices.ContainsFunc(pod.Status.ContainerStatuses, runs)
}

// CanAct reports whether the pod has not ended and its peers reach it through the Service.
func CanAct(pod *corev1.Pod) bool { return CanRun(pod) && !IsFenced(pod) }

// IsFenced reports whether the pod is out of its job's Service: nobody can stop it on its lost node, but nobody meets it.
func IsFenced(pod *corev1.Pod) bool { return pod.Labels[v1alpha1.LabelJobName] == "" }

// Env returns the environment of the pod's first container.
func Env(pod *corev1.Pod) map[string]string {
	values := map[string]string{}
	for _, v := range pod.Spec.Containers[0].Env {
		values[v.Name] = v.Value
	}
	return values
}

// numberOf returns what a text like "0-3:1,5:2" says of the index; 0 for nothing.
func numberOf(text string, index int) int {
	for part := range strings.SplitSeq(text, ",") {
		run, number, _ := strings.Cut(part, ":")
		from, to, isRun := strings.Cut(run, "-")
		first, err := strconv.Atoi(from)
		last := first
		if isRun {
			last, _ = strconv.Atoi(to)
		}
		if n, bad := strconv.Atoi(number); err == nil && bad == nil && first <= index && index <= last {
			return n
		}
	}
	return 0
}
