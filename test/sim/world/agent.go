package world

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Agents is whether the pods of a PyTorch job run an agent of torchrun with two ranks each, which exits with 1 however they end, and prints a table.
type Agents int

// The kinds of agents.
const (
	NoAgents Agents = iota
	// AgentsWithoutFiles show the exit codes of their ranks alone.
	AgentsWithoutFiles
	// AgentsWithFiles show the exceptions of their ranks too, because the ranks write error files.
	AgentsWithFiles
)

const (
	// tableHead is the first line of what an agent prints.
	tableHead = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "
	// noTraceback stands in a table for a rank that wrote no error file.
	noTraceback = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
)

// isTable reports whether an agent printed the words.
func isTable(words string) bool { return strings.HasPrefix(words, tableHead) }

// SaysNothing reports whether an agent printed the words, and they do not show why its rank ended: an exception of any kind, its own or for a lost peer.
func SaysNothing(words string) bool { return isTable(words) && strings.Contains(words, noTraceback) }

// byAgent returns how a pod ends if its first rank ends so. The other one gets a request to end.
func (w *World) byAgent(pod *corev1.Pod, r report) end {
	rank := r.end
	if w.Habits.Agents == NoAgents || w.Job().Spec.Framework != v1alpha1.PyTorch || rank.code == 0 || roleOf(pod) == "evaluator" {
		return rank
	}
	file, code, traceback := "<N/A>", rank.code, noTraceback
	switch isException := code == 1; {
	case code > 128 && code < 128+32:
		code = 128 - code
		traceback = fmt.Sprintf("Signal %d received by PID 31", -code)
	case isException && w.Habits.Agents == AgentsWithFiles:
		file, traceback = "/tmp/torchelastic_x/attempt_0/0/error.json", "Traceback (most recent call last):\n    File \"train.py\", line 41, in main\n  "+rank.words+"\n"
	}
	index, _ := strconv.Atoi(pod.Labels[v1alpha1.LabelIndex])
	entry := func(n, rank int, code int32, file, traceback string) string {
		return fmt.Sprintf("[%d]:\n  time      : %s\n  host      : %s\n  rank      : %d (local_rank: %d)\n  exitcode  : %d (pid: 31)\n  error_file: %s\n  traceback : %s",
			n, w.timeOn(pod, r.at).UTC().Format("2006-01-02_15:04:05"), pod.Name, rank, rank%2, code, file, traceback)
	}
	rule, thin := strings.Repeat("=", 60), strings.Repeat("-", 60)
	return end{1, strings.Join([]string{
		tableHead, rule, "train.py FAILED", thin, "Failures:",
		entry(1, 2*index+1, -15, "<N/A>", "Signal 15 (SIGTERM) received by PID 32"), thin, "Root Cause (first observed failure):",
		entry(0, 2*index, code, file, traceback), rule,
	}, "\n")}
}

// ofAgent matches the last code that an agent shows, or that the operator read from it.
var ofAgent = regexp.MustCompile(`(?s).*(?:exitcode  : |\(torchrun: rank \d+ ended with exit code )(-?\d+)`)

// CodeIn returns with which code the program ended whose last words and own code these are: an agent's is that of its rank.
func CodeIn(words string, code int32) int32 {
	if shown := ofAgent.FindStringSubmatch(words); shown != nil {
		n, _ := strconv.Atoi(shown[1])
		code = int32(n)
	}
	if code < 0 { // a signal
		code = 128 - code
	}
	return code
}
