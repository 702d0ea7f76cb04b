package failure_test

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/test/sim/builder"
)

// ends are logs in the words of frameworks, each after "### what, code N: the phrase that explains". "beyond" is a log whose last 2,048 bytes have no such
// phrase. A line "*N text" stands N times, with | for a new line, and "^N text" ends N times with a return of the carriage; in a line *N...* stands N times.
//
//go:embed testdata/ends.txt
var ends string

var (
	endTitle  = regexp.MustCompile(`(?m)^### (.*), code (\d+)(, beyond)?: (.*)\n`)
	endLine   = regexp.MustCompile(`(?m)^\*(\d+) (.*\n)`)
	endReturn = regexp.MustCompile(`(?m)^\^(\d+) (.*)\n`)
	endWord   = regexp.MustCompile(`\*(\d+)([^*\n]*)\*`)
)

type logEnd struct {
	name, log, phrase string
	code              int32
	isBeyond          bool
}

func readEnds() (list []logEnd) {
	repeat := func(form *regexp.Regexp, text, after string) string {
		return form.ReplaceAllStringFunc(text, func(match string) string {
			parts := form.FindStringSubmatch(match)
			n, _ := strconv.Atoi(parts[1])
			return strings.Repeat(strings.ReplaceAll(parts[2], "|", map[bool]string{true: "\n", false: "|"}[after == ""])+after, n)
		})
	}
	titles := endTitle.FindAllStringSubmatch(ends, -1)
	for i, log := range endTitle.Split(ends, -1)[1:] {
		code, _ := strconv.Atoi(titles[i][2])
		log = repeat(endWord, repeat(endReturn, repeat(endLine, log, ""), "\r"), "")
		list = append(list, logEnd{titles[i][1], log, titles[i][4], int32(code), titles[i][3] != ""})
	}
	return list
}

// kept returns what a kubelet keeps of a log: its last 80 lines, and 2,048 bytes of these.
func kept(log string) string {
	lines := strings.SplitAfter(log, "\n")
	log = strings.Join(lines[max(0, len(lines)-81):], "")
	return log[max(0, len(log)-2048):]
}

func TestTheLineThatExplainsComesFirst(t *testing.T) {
	shown := 0
	for _, e := range readEnds() {
		s := builder.Snapshot(builder.Job("j", builder.Workers(1)), builder.Failed("worker", 0, builder.ExitSaying(e.code, "Error", kept(e.log)), builder.At(30*second)))
		f := &failure.Find(s)[0].Failure
		first, _, _ := strings.Cut(f.Message, "\n")
		if isThere := strings.Contains(first, e.phrase) && failure.Line(f) == first; isThere {
			shown++
		} else if !e.isBeyond {
			t.Errorf("%s: the message begins with %q; the line is %q, and should have %q", e.name, first, failure.Line(f), e.phrase)
		}
		if sentence := failure.WithMessage(f, "It failed."); len(sentence) > 300 || failure.WithoutMessage(sentence) != "It failed." || !e.isBeyond && strings.Count("\n"+f.Message+"\n", first+"\n") > 1 {
			t.Errorf("%s: the line is not there once: %q\n%s", e.name, sentence, f.Message)
		}
		if len(f.Message) > 1024 {
			t.Errorf("%s: %d bytes in the status", e.name, len(f.Message))
		}
		if line, isError := failure.Explaining(e.log, e.code); !strings.Contains(line, e.phrase) || isError == slices.Contains([]string{"killed", "MPI_ABORT", "a shell that reports a crash of its program"}, e.name) {
			t.Errorf("%s: the whole log is explained by %q, %t", e.name, line, isError)
		}
	}
	t.Logf("%d of %d ends are explained by what a kubelet keeps", shown, len(readEnds()))
}

// The watchdog of NCCL prints its words before the frames of its stack, which fill the message of a status.
func TestAFollowerIsKnownByTheLineBeforeItsFrames(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2))
	watchdog := "  what():  [Rank 1] Process group watchdog thread terminated with exception: NCCL error: remote process exited or there was a network error\n" +
		strings.Repeat("frame #3: c10::Error::Error(c10::SourceLocation, std::__cxx11::basic_string<char>) + 0x96 (0x7fd1b4 in libc10.so)\n", 14)
	s := builder.Snapshot(job, builder.Running("worker", 0), builder.Failed("worker", 1, builder.ExitSaying(134, "Error", watchdog), builder.At(30*second)))
	if f := &failure.Find(s)[0].Failure; !failure.Followed(f) {
		t.Errorf("it is taken for the first failure: %+v", f)
	}
}
