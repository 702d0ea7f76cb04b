package story

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

const (
	// fullBytes and fullLines are how much of a log a status has at least, if the kubelet has cut it: it takes 2,048 bytes and 80 lines.
	fullBytes, fullLines = 1900, 79
	// mostEnds is how many logs a verb reads for the ends of programs.
	mostEnds = 4
)

// End is the end of a program that its pod's status does not explain.
type End struct {
	Pod, Container string
	Code           int32
	// Previous is whether the container has started again since.
	Previous bool
}

// Unexplained returns the ends of programs for which the status holds no error, and only the end of a longer log; at most four.
func (v *View) Unexplained() []End {
	var ends []End
	for i := range v.Pods {
		pod := &v.Pods[i]
		for _, c := range pod.Status.ContainerStatuses {
			end, isPrevious := c.State.Terminated, false
			if f := v.Job.Status.LastFailure; end == nil && f != nil && f.Pod == pod.Name {
				end, isPrevious = c.LastTerminationState.Terminated, true
			}
			if c.Name == state.MainContainer(pod) && end != nil && end.ExitCode != 0 && isCut(end) && len(ends) < mostEnds {
				ends = append(ends, End{Pod: pod.Name, Container: c.Name, Code: end.ExitCode, Previous: isPrevious})
			}
		}
	}
	return ends
}

// isCut reports whether the message is the end of a longer log, and reports no error. No program that was killed could report one.
func isCut(end *corev1.ContainerStateTerminated) bool {
	_, isError := failure.Explaining(end.Message, end.ExitCode)
	return !isError && end.ExitCode != 128+9 && (len(end.Message) >= fullBytes || strings.Count(end.Message, "\n") >= fullLines)
}

// Explain notes the log of an end.
func (v *View) Explain(end End, log string) {
	if line, isError := failure.Explaining(log, end.Code); isError {
		if v.lines == nil {
			v.lines = map[string]string{}
		}
		v.lines[end.Pod] = line
	}
}

// Line returns the line that explains the failure: from the log of its pod, if its message has none; empty if there is none.
func (v *View) Line(f *v1alpha1.Failure) string {
	if last := v.Job.Status.LastFailure; last != nil && last.Pod == f.Pod && last.Attempt == f.Attempt && last.Replacement == f.Replacement && v.lines[f.Pod] != "" {
		return v.lines[f.Pod]
	}
	return failure.Line(f)
}

// lineOf returns the line that explains the end of the pod's program.
func (v *View) lineOf(p *state.Pod) string {
	if line := v.lines[p.Name]; line != "" {
		return line
	}
	line, _ := failure.Explaining(p.Exit.Message, p.Exit.Code)
	return line
}

// ended returns how a pod's program ended, as a cell of a table.
func (v *View) ended(p *state.Pod) string {
	text, line := fmt.Sprintf("exit code %d", p.Exit.Code), v.lineOf(p)
	switch {
	case line == "":
		return strings.TrimSpace(text + " " + p.Exit.Reason)
	case p.Exit.Code == 128+9:
		return text + " " + p.Exit.Reason + ", last line before: " + line
	default:
		return text + " " + line
	}
}

// wordFacts return the line that explains the failure, unless the answer has it.
func wordFacts(v *View, f *v1alpha1.Failure, answer string) []string {
	line, message := v.Line(f), Message(f)
	switch {
	case failure.LastWords(f) == "" && message != "":
		return []string{fmt.Sprintf("Message: %q", state.Printable(message))}
	case line == "" || strings.Contains(answer, state.Printable(line)):
		return nil
	case line != failure.Line(f):
		return []string{fmt.Sprintf("In its log: %q", line)}
	default:
		return []string{strings.TrimSpace(failure.WithMessage(f, ""))}
	}
}

// output returns the other lines that the status has of the failed program.
func output(f *v1alpha1.Failure) []string {
	if f == nil {
		return nil
	}
	return strings.Split(state.PrintableLines(failure.LastWords(f)), "\n")[1:]
}
