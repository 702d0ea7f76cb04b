package transcript

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// Incident is one file: what was recorded, and what truly happened.
type Incident struct {
	Truth, Job, Want string
	Versions         []Version
}

// Version is one line: a pod as it was from then on, or a node that is not ready any more.
type Version struct {
	At time.Duration
	// Who is the pod, with its replacement, as the file has it; Slot and Life say it again. Node is set for a node.
	Who  string
	Slot state.Slot
	Life state.Life
	Node string
	// Status is the rest of the line.
	Status string
}

// Read reads a file.
func Read(name string) (*Incident, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	i := &Incident{}
	headers := map[string]*string{"truth": &i.Truth, "job": &i.Job, "want": &i.Want}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if header, value, _ := strings.Cut(line, ": "); headers[header] != nil {
			*headers[header] = value
			continue
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		v, err := version(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", name, line, err)
		}
		i.Versions = append(i.Versions, v)
	}
	return i, nil
}

func version(line string) (Version, error) {
	at, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	seconds, err := strconv.ParseFloat(at, 64)
	if err != nil {
		return Version{}, err
	}
	who, status, found := strings.Cut(rest, ": ")
	if !found {
		return Version{}, errors.New("nobody is named")
	}
	v := Version{At: time.Duration(seconds * float64(time.Second)), Who: who, Status: status}
	if node, isNode := strings.CutPrefix(who, "node "); isNode {
		v.Node = node
		return v, nil
	}
	slot, replacement, _ := strings.Cut(who, "/")
	role, index, _ := strings.Cut(slot, "-")
	v.Slot = state.Slot{Role: builder.Role(role)}
	if v.Slot.Index, err = strconv.Atoi(index); err == nil && replacement != "" {
		v.Life.Replacement, err = strconv.Atoi(replacement)
	}
	return v, err
}

// Pod returns the pod as the line has it.
func (v *Version) Pod(job *v1alpha1.TrainingJob) (*corev1.Pod, error) {
	pod := builder.Pod(job, v.Slot, v.Life, corev1.PodPending)
	for n, part := range strings.Split(v.Status, ", ") {
		if n == 0 {
			pod.Status.Phase = corev1.PodPhase(part)
			continue
		}
		facts, message, _ := strings.Cut(part, " says ")
		if err := read(pod, strings.Fields(facts), message); err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
	}
	return pod, nil
}

// read reads one part of a line, and the message that ends it.
func read(pod *corev1.Pod, words []string, message string) error {
	switch words[0] {
	case "on":
		pod.Spec.NodeName = words[1]
	case "reason":
		pod.Status.Reason, pod.Status.Message = words[1], message
	case "ready":
		is(pod, corev1.PodReady, "", metav1.Time{})
	case "restarting-all":
		is(pod, corev1.AllContainersRestarting, "", metav1.Time{})
	case "disrupted":
		since, err := second(words[2])
		is(pod, corev1.DisruptionTarget, words[1], since)
		return err
	case "ends-by":
		by, err := second(words[1])
		if err != nil {
			return err
		}
		grace, err := strconv.ParseInt(words[3], 10, 64)
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &by, &grace
		return err
	case "init":
		return add(&pod.Status.InitContainerStatuses, words[1:], message)
	case "container":
		return add(&pod.Status.ContainerStatuses, words[1:], message)
	default:
		return errors.New("no such word")
	}
	return nil
}

func is(pod *corev1.Pod, kind corev1.PodConditionType, reason string, since metav1.Time) {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: since})
}

// add reads a container's state, and how it ended before.
func add(list *[]corev1.ContainerStatus, words []string, message string) error {
	c := corev1.ContainerStatus{Name: words[0]}
	if at := slices.Index(words, "restarts"); at > 0 {
		count, err := strconv.ParseInt(words[at+1], 10, 32)
		if err != nil {
			return err
		}
		c.RestartCount = int32(count)
	}
	if at := slices.Index(words, "last"); at > 0 {
		last, err := end(words[at+1:])
		if err != nil {
			return err
		}
		c.LastTerminationState.Terminated = last
	}
	switch words[1] {
	case "waiting":
		c.State.Waiting = &corev1.ContainerStateWaiting{Reason: words[2]}
	case "runs":
		c.State.Running = &corev1.ContainerStateRunning{}
	case "exit":
		ended, err := end(words[2:])
		if err != nil {
			return err
		}
		ended.Message = message
		c.State.Terminated = ended
	default:
		return errors.New("no such state")
	}
	*list = append(*list, c)
	return nil
}

// end reads "<code> <reason> <second|unknown>".
func end(words []string) (*corev1.ContainerStateTerminated, error) {
	code, err := strconv.ParseInt(words[0], 10, 32)
	if err != nil {
		return nil, err
	}
	ended := &corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: words[1]}
	if words[2] != "unknown" {
		ended.FinishedAt, err = second(words[2])
	}
	return ended, err
}

func second(text string) (metav1.Time, error) {
	n, err := strconv.Atoi(text)
	return builder.Time(time.Duration(n) * time.Second), err
}
