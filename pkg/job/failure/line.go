package failure

import (
	"regexp"
	"slices"
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// What a line of a log shows of the end of its program, the least first. Of the lines that show most, the last one explains the end.
const (
	noise   = iota // a frame of a stack, a rule, or what launchers and libraries print at their end
	plain          // anything else
	outer          // a shell or a launcher reports that another process has ended
	logged         // something went wrong
	thrown         // an exception, a failed check, a panic, or the cause of one
	culprit        // the same, where ranks share a log and others report the loss of a peer
)

// maxLine is how many bytes of the line that explains a message begins with, and a sentence quotes.
const maxLine = 240

// forms are the forms of lines: the first that matches counts.
var forms = []struct {
	form *regexp.Regexp
	show int
}{
	{regexp.MustCompile(`^(frame #\d|at \S+(\(|:\d+$)|\d+: \S+::\S+$|File "|@ +(0x)?[0-9a-f]|#\d+ |goroutine \d|Extension modules: |.*\(total: \d+\)$|[╭│╰─]|[-=~^*_+. ]+$|\[\d+\]:$|[\w ]+\(first observed failure\):$|\.\.\. \d+ more)` +
		`|\(most recent call (first|last)\):?$|<stack traces unavailable>$|\*\*\* End of error message \*\*\*$|^\*\*\* (Check failure|Aborted at)|^(PC|time|host|rank|exitcode|error_file|traceback|Failures|<NO_OTHER_FAILURES>) *(:|$)`), noise},
	{regexp.MustCompile(`^(wandb: |For simplicity, JAX|note: run with|NOTE: invoking MPI_ABORT|You may or may not see output|exactly when Open MPI|exit status \d|with errorcode|Process name: |Exit code: |CUDA kernel errors|For debugging consider|` +
		`Compile with .TORCH_USE|Hint: |During handling of|The above exception was|Exception ignored in|Error in sys\.excepthook)|process group has NOT been destroyed|resource_tracker: |allocated tensors when OOM`), noise},
	{regexp.MustCompile(`ChildFailedError|^\S+ FAILED$|\] failed \(exitcode: -?\d+\)|CalledProcessError|Process(Raised|Exited)Exception|non-zero (exit|status)|return code = |core dumped|^(\S+: line \d+: +\d+ )?(Aborted|Killed|Terminated|Segmentation fault|Bus error)\b|` +
		`Killing subprocess|terminating all other processes|MPI_ABORT was invoked|^(Primary job|a non-zero exit|the job to be term|mpirun)|SystemExit`), outer},
	{regexp.MustCompile(`^(Exception in thread "[^"]*" )?[A-Za-z_][\w.$]*(Error|Exception|Interrupt|Failure|Timeout|Exhausted|Empty)(\(\w+\))?(:|$)` +
		`|^(what\(\): |Caused by: |panic: |Fatal Python error|Last error:|F\d{4,8} \d\d:)|^\S*( \S+)? F \S+:\d+\]|panicked at |[Cc]heck failed|\bFATAL\b|\bFatal error in |\[Fatal\]|^[Ff]atal( error)?: |[Aa]ssertion .*failed`), thrown},
	{regexp.MustCompile(`^\[?E\d{4}|\b(ERROR|CRITICAL|SEVERE|NCCL WARN)\b|^terminate called|RESOURCE_EXHAUSTED|\bOOM when|ncclInvalidUsage` +
		`|(?i)\b(error|cannot|can't|could not|failed|failure|not found|no such file|permission denied|out of memory|no space left|bus error|device-side assert|segmentation fault)\b`), logged},
}

// ofWorker matches what Ray puts before the lines of its workers.
var ofWorker = regexp.MustCompile(`^\([\w.]+ pid=\d+[^)]*\) `)

// explaining returns the line of a program's output that explains its end, without the rank before it, and what it shows; empty if all lines are noise.
// A program that was killed could not explain it: its last line counts.
//
//	RuntimeError: CUDA error: device-side assert triggered     <- thrown
//	frame #0: c10::Error::Error(...)                           <- noise
//	wandb: Run history:                                        <- noise
//	Aborted (core dumped)                                      <- outer
func explaining(text string, wasKilled bool) (line string, show int) {
	lines, shared := splitLog(text)
	best, isIgnored := -1, false
	for i := range lines {
		isIgnored = isIgnored || strings.HasPrefix(lines[i], "Exception ignored in")
		level := levelOf(lines[i])
		switch {
		case level == noise:
			continue
		case wasKilled:
			level = plain
		case level == thrown && isIgnored: // while Python ends, after what ended it
			level = plain
		case level == thrown && shared && wordsIn(strings.ToLower(lines[i])) < lostEarly:
			level = culprit
		}
		if level >= show {
			best, show = i, level
		}
	}
	if best < 0 {
		return "", noise
	}
	return beginning(completed(lines[best:])), show
}

// splitLog returns the lines of a log without the rank before each, and whether there were ranks. A line of JSON has the lines of its stack.
func splitLog(text string) (lines []string, shared bool) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		bare := withoutRank(line)
		shared = shared || bare != line
		for part := range strings.SplitSeq(bare, `\n`) {
			if len(part) < len(bare) { // of JSON
				part = strings.ReplaceAll(strings.TrimRight(part, `"}, `), `\"`, `"`)
			}
			lines = append(lines, strings.TrimSpace(part))
		}
	}
	return lines, shared
}

func withoutRank(line string) string {
	return strings.TrimSpace(ofWorker.ReplaceAllString(ofRank.ReplaceAllString(line, ""), ""))
}

func levelOf(line string) int {
	if line == "" {
		return noise
	}
	for i := range forms {
		if forms[i].form.MatchString(line) {
			return forms[i].show
		}
	}
	return plain
}

// completed returns the first of the lines; if it ends with a colon, with the next one that reports an error, or the next one.
func completed(lines []string) string {
	first, next := lines[0], ""
	if !strings.HasSuffix(first, ":") {
		return first
	}
	for _, line := range lines[1:] {
		switch level := levelOf(line); {
		case level >= logged, level > noise && strings.HasPrefix(first, "Last error:"): // NCCL's stands in the next line
			return first + " " + line
		case level == plain && next == "":
			next = line
		}
	}
	return strings.TrimSpace(first + " " + next)
}

func beginning(line string) string {
	if short := state.Cut(line, maxLine); short != line {
		return short + "..."
	}
	return line
}

// Explaining returns the line of the output of a program that explains why it exited with the code, and whether it reports an error.
func Explaining(output string, code int32) (line string, isError bool) {
	line, show := explaining(state.PrintableLines(output), code == 128+9)
	return line, show >= logged
}

// explained returns the message of a failure, as much as a status holds: the line that explains it, and the end of the other lines.
func explained(f *v1alpha1.Failure) string {
	line, _ := explaining(LastWords(f), isKill(f))
	if line == "" || line == f.Message {
		return state.KeepEnd(f.Message, state.MaxWords)
	}
	rest := slices.DeleteFunc(strings.Split(f.Message, "\n"), func(other string) bool { return withoutRank(other) == line })
	return strings.TrimSpace(line + "\n" + state.KeepEnd(strings.Join(rest, "\n"), state.MaxWords-len(line)-1))
}

// Line returns the first line of the last words, which explains them; empty if there are none, or they explain nothing.
func Line(f *v1alpha1.Failure) string {
	line, _, _ := strings.Cut(LastWords(f), "\n")
	if levelOf(line) == noise {
		return ""
	}
	return beginning(line)
}

// varies matches what differs between equal crashes in the line that explains them: addresses, times with the thread that follows, and processes.
var varies = regexp.MustCompile(`0x[0-9a-f]+|\d\d:\d\d:\d\d(\.\d+( +\d+)?)?|(?i)\b(pid|process) ?[=:]? ?\d+`)

// IsSameCrash reports whether the programs of two ranks ended by themselves in the same way: with the same code, and the same first sentence of a line
// that reports an error of its own. Where all ranks have the same error, it is chance which of them is the first.
func IsSameCrash(a, b *v1alpha1.Failure) bool {
	line := crash(a)
	return line != "" && line == crash(b) && ExitCode(a) == ExitCode(b)
}

// crash returns what a crash has in common with equal ones; empty if the end is none, or others may have caused it.
func crash(f *v1alpha1.Failure) string {
	line := Line(f)
	isOwn := IsOfRank(f) && f.Cause == v1alpha1.CauseRetryable && f.Container == "" && (!state.IsSignal(ExitCode(f)) || isAbort(f)) && wordsOf(f) == ownWords
	if !isOwn || levelOf(line) < logged {
		return ""
	}
	sentence, _, _ := strings.Cut(line, ". ")
	return varies.ReplaceAllString(sentence, "")
}
