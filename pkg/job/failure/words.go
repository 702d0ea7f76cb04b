package failure

import (
	"regexp"
	"strings"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// followsWithin is how much later than its followers the rank that failed first may seem to have ended: Python takes its time to end, and
// Kubernetes gives times in whole seconds.
const followsWithin = 2 * time.Second

// What the last words of a rank show, the best evidence of the first failure first.
const (
	ownWords  int64 = iota // an error of its own
	ioWords                // input or output that failed, from a peer or anything else
	noWords                // nothing
	lostEarly              // the loss of a peer, in words that a rank also prints at its start, until its peers listen
	lostPeer               // the loss of a peer
)

// What Gloo, NCCL, JAX, gRPC, Python and the kernel print about a broken connection, in lower case. Any input or output fails in some of these words,
// and some come from the start of a rank.
var (
	brokenWords = []string{
		"closed by peer", "reset by peer", "aborted by peer", "closed by remote", "closed by the remote", "reset by remote", "closed by host", "broken pipe", "brokenpipe",
		"connection reset", "connection closed", "connection aborted", "connection lost", "connectionreset", "connectionaborted", "connection was", "remote process exit", "lost communication", "lost connection",
		"got 0 bytes", "socket closed", "another task died", "distributed service detected",
	}
	failedWords = []string{
		" eof", "(eof", "eoferror", "end of file", "timed out", "timed-out", "timeout", "time out", "time-out", "deadline exceeded", "deadlineexceeded", "no route to host",
	}
	earlyWords = []string{"refused", "failed to connect"}
	// crashWords are printed by a program that aborts by itself.
	crashWords = []string{"error", "exception", "fault", "fatal", "fail", "assert", "terminate", "panic", "corrupt", "invalid", "free()", "smash"}
	// peer matches the name of another rank, or of a library through which ranks meet.
	peer = regexp.MustCompile(`\bpeers?\b|\branks? ?\d|\b(worker|master|chief|ps|launcher)-\d|nccl|gloo|c10d|torch\.distributed|(tcp|dist|prefix)store|client socket|rendezvous|` +
		`master_(addr|port)|process ?group|collective|grpc|all addresses|errors_impl|coordination|rabit|tracker|\b(orte|prrte|mpi)`)
	// ofRank matches the rank that torchrun and MPI put before each line.
	ofRank = regexp.MustCompile(`^\[[^\]]*\d\](<\w+>)?:`)
)

// wordsOf returns what the last words of a rank show. A lost peer explains all other words. A program that was killed, or got a request to end (130,
// 143), leaves the lines of its training, and so does one that a watchdog aborts.
func wordsOf(f *v1alpha1.Failure) int64 {
	words, wasTold := noWords, ExitCode(f) == 128+2 || ExitCode(f) == 128+15
	if !IsOfRank(f) || isKill(f) {
		return words
	}
	for line := range strings.Lines(strings.ToLower(f.Message)) {
		line = ofProgram(line)
		switch lineWords := wordsIn(" " + line); {
		case lineWords >= lostEarly, lineWords == ioWords && words < lostEarly:
			words = lineWords
		case lineWords == noWords && words == noWords && line != "" && !wasTold && (!isAbort(f) || last(line, crashWords) >= 0):
			words = ownWords
		}
	}
	return words
}

// ofProgram returns what the program itself has written of a line of its log: nothing of the frames of a watchdog's stack, which name any library.
func ofProgram(line string) string {
	switch line = strings.TrimSpace(line); {
	case strings.HasPrefix(line, "frame #"), strings.HasPrefix(line, "(torchrun: "):
		return ""
	case strings.HasPrefix(line, "["):
		return ofRank.ReplaceAllString(line, "")
	default:
		return line
	}
}

// wordsIn returns what a line shows of a failed connection; noWords if it is about something else.
func wordsIn(line string) int64 {
	broken, failed, early := last(line, brokenWords), last(line, failedWords), last(line, earlyWords)
	switch {
	case broken < 0 && failed < 0 && early < 0:
		return noWords
	case broken < 0 && !peer.MatchString(line):
		return ioWords
	case early > max(broken, failed):
		return lostEarly
	default:
		return lostPeer
	}
}

// last returns where the last of the words is; less than 0 if none is in the line.
func last(line string, words []string) int {
	at := -1
	for _, word := range words {
		if strings.Contains(line, word) {
			at = max(at, strings.LastIndex(line, word))
		}
	}
	return at
}

// EndedBeside reports whether the rank's program or init container ended at about the time of the failed one: either may have been first, as its log may show.
func EndedBeside(f *v1alpha1.Failure, p *state.Pod) bool {
	within := followsWithin
	if isAgents(f) {
		within += agentNotices
	}
	return IsOfRank(f) && p.Exit != nil && p.Exit.Code != 0 && p.Slot != SlotOf(f) && state.IsNeeded(p.Slot.Role) &&
		(p.Life.Attempt == int(f.Attempt) || p.Life.Attempt < 0) && p.Exit.Time.Sub(f.Time.Time).Abs() <= within
}
