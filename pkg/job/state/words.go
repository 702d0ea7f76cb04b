package state

import (
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxReason is the longest reason that a status holds, in bytes.
const maxReason = 128

// MaxWords is how much of an annotation or of another text of a user counts, in bytes.
const MaxWords = 1024

// MaxMessage is how much of a message counts, in bytes: more than a kubelet takes from all containers of a pod, which is 12 kB.
const MaxMessage = 16 << 10

// Cut returns the text's first bytes, up to limit, and whole characters of it only. It keeps no more of the text in memory than that.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return strings.Clone(text[:limit])
}

// maxKept is the longest message that a status or an Event holds, in bytes.
const maxKept = 1024

// KeepBeginning returns the beginning of a message, as much as a status holds.
func KeepBeginning(message string) string { return Cut(message, maxKept) }

// KeepEnd returns the last lines of a text, up to limit bytes; if the last one has more, its end.
func KeepEnd(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := text[len(text)-limit:]
	if _, whole, isCut := strings.Cut(end, "\n"); isCut && text[len(text)-limit-1] != '\n' {
		return whole
	}
	return strings.ToValidUTF8(end, "") // it may begin within a character
}

// aReason is what the API server takes for a condition's reason.
var aReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// otherReason stands for a reason that a status cannot hold.
const otherReason = "Other"

// trouble returns a reported problem in a form for the status: kubelets, schedulers and programs write any text. A reason that is not one
// word becomes part of the message.
func trouble(reason, message string, at time.Time) Trouble {
	message = Printable(Cut(message, MaxMessage))
	if reason != "" && (len(reason) > maxReason || !aReason.MatchString(reason)) {
		message = strings.TrimSuffix(Printable(Cut(reason, MaxWords))+": "+message, ": ")
		reason = otherReason
	}
	return Trouble{Reason: reason, Message: message, Time: at}
}

// Printable returns the text with blanks for its control characters and for those that turn the direction of writing, which make a line
// read otherwise than it is; and with none at its ends.
func Printable(text string) string {
	return strings.TrimSpace(strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, text), ""))
}

// ofTerminal matches what sets colours and moves the cursor of a terminal, and what the rest of its line overwrites there.
var ofTerminal = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[@-Z\\-_]`)

// PrintableLines returns the lines of a text as a terminal shows them and Printable returns each, without empty ones.
func PrintableLines(text string) string {
	var lines []string
	for line := range strings.Lines(ofTerminal.ReplaceAllString(text, "")) {
		line = strings.TrimRight(line, "\r\n")
		if line = Printable(line[strings.LastIndexByte(line, '\r')+1:]); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// maxQuote is how many bytes of a message a sentence quotes. The sentence itself must fit beside them.
const maxQuote = 480

// Quote returns the message in one line, or its beginning and its end if it is too long for a sentence.
func Quote(message string) string {
	message = Printable(message)
	if len(message) <= maxQuote {
		return message
	}
	head, tail := message[:maxQuote/2], message[len(message)-maxQuote/2:]
	return strings.ToValidUTF8(head, "") + " ... " + strings.ToValidUTF8(tail, "")
}

// Trouble is a reason and message of Kubernetes, and when it came.
type Trouble struct {
	Reason  string
	Message string
	Time    time.Time
}
