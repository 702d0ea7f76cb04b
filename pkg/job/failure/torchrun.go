package failure

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// An agent of torchrun exits with 1, however its ranks ended. The last that it prints is a table of them; at its end stands the one that failed first
// by its times, which are whole seconds:
//
//	Root Cause (first observed failure):
//	[0]:
//	  time      : 2026-11-27_15:35:30
//	  rank      : 2 (local_rank: 0)
//	  exitcode  : -9 (pid: 31)
//	  error_file: <N/A>
//	  traceback : Signal 9 (SIGKILL) received by PID 31
//	============================================================
//
// A program whose main has @record, or which calls trainingjob.report(), writes an error file: the table shows its traceback, and when it failed. Of
// others it shows the exit code, and when the agent noticed the end, up to 5 s later.
//
// With TORCHELASTIC_ERROR_FILE the agent copies the error file, too. But it removes the target first, and the termination log of a container is a
// mount, which it cannot remove: the agent then fails with OSError instead (torch 1.13 and 2.11).
var (
	tableEntry = regexp.MustCompile(`(?m)^\[\d+\]:\s*$`)
	tableField = regexp.MustCompile(`(?m)^(time|rank|exitcode|error_file) *: (\S+)`)
	tableRule  = regexp.MustCompile(`(?m)^(={9,}|-{9,})\s*$`)
)

const (
	// tableTime is how torchrun writes a time, by the clock and in the time zone of its container.
	tableTime = "2006-01-02_15:04:05"
	// freshFor is how long before its agent a rank ends at most. An older time is of another time zone.
	freshFor = time.Minute
	// agentNotices is how much later an agent notices that a rank has ended: it looks every 5 s in torch before 2.4, every 0.1 s later.
	agentNotices = 5 * time.Second
	// ofTable ends the message of a failure that is read from a table.
	ofTable = "(torchrun: rank %s ended with exit code %d)"
)

// readTable turns the failure of an agent into the failure of the rank whose end shows most, if its message has a table.
func readTable(f *v1alpha1.Failure) {
	if !IsOfRank(f) || !tableRule.MatchString(f.Message) {
		return
	}
	var ranks []v1alpha1.Failure
	entries := tableEntry.Split(f.Message, -1)[1:]
	for _, entry := range entries {
		ranks = append(ranks, readEntry(f, tableRule.Split(entry, 2)[0])...)
	}
	if len(entries) == 1 && len(ranks) == 1 && strings.HasPrefix(ranks[0].Message, "(") && !state.IsSignal(ExitCode(&ranks[0])) {
		if line, show := explaining(tableRule.Split(f.Message, 2)[0], false); show >= thrown { // no other rank has failed here
			ranks[0].Message = line + "\n" + ranks[0].Message
		}
	}
	slices.Reverse(ranks) // of equal ones torchrun's own choice comes first
	slices.SortStableFunc(ranks, func(a, b v1alpha1.Failure) int {
		return int(evidenceOf(&a, wordsOf(&a), false) - evidenceOf(&b, wordsOf(&b), false))
	})
	if len(ranks) > 0 {
		*f = ranks[0]
	}
}

// readEntry returns the failure of the rank of an entry; none if the entry has no exit code, or the agent itself ended the rank (-15).
func readEntry(f *v1alpha1.Failure, text string) []v1alpha1.Failure {
	rank, fields := *f, map[string]string{}
	for _, field := range tableField.FindAllStringSubmatch(text, -1) {
		fields[field[1]] = field[2]
	}
	code, err := strconv.ParseInt(fields["exitcode"], 10, 32)
	isRecorded := strings.HasPrefix(fields["error_file"], "/")
	if err != nil || code == -15 && !isRecorded {
		return nil
	}
	rank.Message = fmt.Sprintf(ofTable, fields["rank"], code)
	if isRecorded {
		_, traceback, _ := strings.Cut(text, "traceback :")
		rank.Message = strings.TrimSpace(traceback) + "\n" + rank.Message
		failed, err := time.Parse(tableTime, fields["time"])
		if ago := f.Time.Sub(failed); err == nil && ago >= 0 && ago <= freshFor {
			rank.Time = metav1.NewTime(failed)
		}
	}
	return []v1alpha1.Failure{rank}
}

// isAgents reports whether an agent of torchrun has reported the failure of its rank.
func isAgents(f *v1alpha1.Failure) bool {
	_, isRead := codeInTable(f.Message)
	return isRead
}

// LateCulprit returns how much later than this follower the rank that failed first may show: its agent may not have noticed yet.
func LateCulprit(f *v1alpha1.Failure) time.Duration {
	if isAgents(f) && wordsOf(f) >= lostEarly {
		return agentNotices
	}
	return 0
}

// codeInTable returns the exit code of the rank in a message that readTable made, as a shell shows it: 137 for -9.
func codeInTable(message string) (code int32, isRead bool) {
	var rank string
	at := strings.LastIndex(message, "(torchrun: ")
	if at < 0 {
		return 0, false
	}
	if _, err := fmt.Sscanf(message[at:], ofTable, &rank, &code); err != nil {
		return 0, false
	}
	if code < 0 {
		code = 128 - code
	}
	return code, true
}
