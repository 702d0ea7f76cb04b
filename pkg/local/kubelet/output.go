package kubelet

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/trainingjob/operator/pkg/local/folder"
)

// What a kubelet takes of a log as the message of a container that failed. Source: k8s.io/kubernetes/pkg/kubelet/kuberuntime.
const (
	messageLines = 80
	messageBytes = 2048
	longestLine  = 16 * 1024
)

// output writes what a container prints to its log, and keeps the end of it.
type output struct {
	file *folder.Writer
	line func(text string)

	mu   sync.Mutex
	last []string
}

// openOutput opens the log of that name in the folder of the run, behind what it already holds.
func openOutput(run, name string, line func(text string)) (*output, error) {
	file, err := folder.Append(run, name)
	if err != nil {
		return nil, err
	}
	return &output{file: file, line: line}, nil
}

// readFrom takes every line until the end or an error of the reader.
func (o *output) readFrom(r io.Reader) {
	reader := bufio.NewReaderSize(r, longestLine)
	for {
		text, err := reader.ReadSlice('\n')
		if len(text) > 0 {
			o.add(string(text))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (o *output) add(text string) {
	o.file.Add(text, time.Now())
	text = strings.TrimRight(text, "\r\n")
	o.mu.Lock()
	o.last = append(o.last, text)
	if len(o.last) > messageLines {
		o.last = o.last[1:]
	}
	o.mu.Unlock()
	o.line(text)
}

// tail returns the last lines, as the message of a failed container has them.
func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.last) == 0 {
		return ""
	}
	text := strings.Join(o.last, "\n") + "\n"
	return text[max(0, len(text)-messageBytes):]
}

func (o *output) close() { o.file.Close(time.Now()) }
