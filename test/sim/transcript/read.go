package transcript

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
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
		if err := read(pod, strings.Fields(part)); err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
	}
	return pod, nil
}

// read reads one part of a line.
func read(pod *corev1.Pod, words []string) error {
	switch words[0] {
	case "on":
		pod.Spec.NodeName = words[1]
	case "reason":
		pod.Status.Reason = words[1]
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
		return add(&pod.Status.InitContainerStatuses, words[1:])
	case "container":
		return add(&pod.Status.ContainerStatuses, words[1:])
	default:
		return errors.New("no such word")
	}
	return nil
}

func is(pod *corev1.Pod, kind corev1.PodConditionType, reason string, since metav1.Time) {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: since})
}

// add reads a container's state.
func add(list *[]corev1.ContainerStatus, words []string) error {
	c := corev1.ContainerStatus{Name: words[0]}
	switch words[1] {
	case "waiting":
		c.State.Waiting = &corev1.ContainerStateWaiting{Reason: words[2]}
	case "runs":
		c.State.Running = &corev1.ContainerStateRunning{}
	case "exit":
		code, err := strconv.ParseInt(words[2], 10, 32)
		if err != nil {
			return err
		}
		c.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: words[3]}
		if words[4] != "unknown" {
			if c.State.Terminated.FinishedAt, err = second(words[4]); err != nil {
				return err
			}
		}
	default:
		return errors.New("no such state")
	}
	*list = append(*list, c)
	return nil
}

func second(text string) (metav1.Time, error) {
	n, err := strconv.Atoi(text)
	return builder.Time(time.Duration(n) * time.Second), err
}
