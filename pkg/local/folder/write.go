package folder

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/pkg/job/state"
)

// LogName returns the name of the log of a container of the named job's pod, in a life of that pod's main container.
func LogName(job string, pod *corev1.Pod, container string, life state.Life) string {
	if container != state.MainContainer(pod) { // it goes on when the main container begins another life in its pod
		return pod.Name + "." + container + ".log"
	}
	if slot, _, ok := state.LivesOf(job, pod); ok {
		return state.PodName(job, slot, life) + ".log"
	}
	return pod.Name + ".log"
}

// Writer writes the log of a container.
type Writer struct {
	log, times *os.File
	// isWithin is whether the last line has no end yet.
	isWithin bool
}

// Append opens a log for a container that starts, behind what it already holds.
func Append(folder, name string) (*Writer, error) {
	log, err := appendTo(filepath.Join(Logs(folder), name))
	if err != nil {
		return nil, err
	}
	times, err := appendTo(filepath.Join(folder, "times", name))
	if err != nil {
		log.Close()
		return nil, err
	}
	w := &Writer{log: log, times: times}
	w.note(0)
	return w, nil
}

func appendTo(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

// Add writes a line, or a part of a long one.
func (w *Writer) Add(text string, now time.Time) {
	_, _ = w.log.WriteString(text) // a full disk must not end the training
	w.isWithin = !strings.HasSuffix(text, "\n")
	if !w.isWithin {
		w.note(now.UnixNano())
	}
}

// Close ends the last line and closes the log.
func (w *Writer) Close(now time.Time) {
	if w.isWithin {
		w.Add("\n", now)
	}
	w.log.Close()
	w.times.Close()
}

// note writes the time of a line, after the line: a reader finds every line that has a time.
func (w *Writer) note(nanoseconds int64) {
	_, _ = w.times.Write(binary.LittleEndian.AppendUint64(nil, uint64(nanoseconds)))
}
