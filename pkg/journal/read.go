package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// longest is how long a line may be. A last status has at most 64 KiB.
const longest = 1 << 20

var messages = []string{MessageIncident, MessageExplained, MessageRuns, MessageFinished}

// Read returns the lines of a log about jobs, in their order. It skips all other lines, and the text before the JSON of a line, as
// kubectl logs --prefix and --timestamps write it.
func Read(log io.Reader) ([]Line, error) {
	var lines []Line
	in := bufio.NewScanner(log)
	in.Buffer(make([]byte, 64<<10), longest)
	for in.Scan() {
		if l, ok := parse(in.Bytes()); ok {
			lines = append(lines, l)
		}
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("a line of it is longer than %d bytes: is it a log?", longest)
	} else if err != nil {
		return nil, err
	}
	return lines, nil
}

// parse returns the line in the text; ok is false if it is not about a job.
func parse(text []byte) (l Line, ok bool) {
	begin := bytes.IndexByte(text, '{')
	if begin < 0 || !bytes.Contains(text, []byte(`"msg"`)) {
		return Line{}, false
	}
	err := json.Unmarshal(text[begin:], &l)
	return l, err == nil && slices.Contains(messages, l.Message) && l.Job != "" && l.isWhole()
}

// isWhole reports whether the line has what its message promises.
func (l *Line) isWhole() bool {
	switch l.Message {
	case MessageIncident, MessageExplained:
		return l.Incident != nil && l.Number > 0
	case MessageRuns:
		return l.RunningTime != nil
	default:
		return l.Status != nil
	}
}
