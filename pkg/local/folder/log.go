package folder

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trainingjob/operator/pkg/job/state"
)

// Log returns the log of a container of a pod, each line with its time before it. It returns the errors of an API server: NotFound without
// the pod, BadRequest without a log.
func (c *Client) Log(ctx context.Context, name, container string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	is, err := c.State()
	if err != nil {
		return nil, err
	}
	pod := podOf(is, name)
	if pod == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
	}
	_, lives, _ := state.LivesOf(is.Job.Name, pod)
	life, skip := lives.Runs, 0
	if o.Previous {
		life = lives.Before
		if lives.Before == lives.Runs || container != state.MainContainer(pod) {
			skip = 1 // the same log has both containers
		}
	}
	r, err := openLog(c.folder, LogName(is.Job.Name, pod, container, life), skip)
	if err != nil {
		return nil, apierrors.NewBadRequest("container " + container + " in pod " + name + " has no such log")
	}
	if o.TailLines != nil {
		r.skip(len(r.times) - int(*o.TailLines))
	}
	if o.SinceTime != nil {
		from := o.SinceTime.UnixNano()
		at := slices.IndexFunc(r.times, func(t int64) bool { return t >= from })
		if at < 0 {
			at = len(r.times)
		}
		r.skip(at)
	}
	goesOn := func() bool { return o.Follow && c.runs(name, container) }
	from, to := io.Pipe()
	go func() { to.CloseWithError(r.copy(ctx, to, goesOn)) }()
	return &closer{from, r.log}, nil
}

func podOf(s *State, name string) *corev1.Pod {
	at := slices.IndexFunc(s.Pods, func(p corev1.Pod) bool { return p.Name == name })
	if at < 0 {
		return nil
	}
	return &s.Pods[at]
}

// runs reports whether the container runs.
func (c *Client) runs(name, container string) bool {
	is, err := c.State()
	if err != nil || !is.IsAlive() {
		return false
	}
	pod := podOf(is, name)
	return pod != nil && slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses),
		func(s corev1.ContainerStatus) bool { return s.Name == container && s.State.Running != nil })
}

// closer ends a copy that is under way, too.
type closer struct {
	*io.PipeReader
	log *os.File
}

// Close closes the log.
func (c *closer) Close() error { return errors.Join(c.PipeReader.Close(), c.log.Close()) }

// logReader reads the lines of one container in a log.
type logReader struct {
	log, timesFile *os.File
	lines          *bufio.Reader
	// times are the times of the lines that are not read yet. ended is whether another container's lines follow.
	times []int64
	ended bool
}

// openLog opens the lines of the last container in the log, or of the one before so many others.
func openLog(folder, name string, before int) (*logReader, error) {
	log, err := os.Open(filepath.Join(Logs(folder), name))
	if err != nil {
		return nil, err
	}
	times, err := os.Open(filepath.Join(folder, "times", name))
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	r := &logReader{log: log, timesFile: times, lines: bufio.NewReaderSize(log, 64<<10)}
	all := r.readTimes()
	var starts []int
	for i, t := range all {
		if t == 0 {
			starts = append(starts, i)
		}
	}
	at := len(starts) - 1 - before
	if at < 0 {
		return nil, errors.Join(errors.New("no such container"), log.Close(), times.Close())
	}
	r.times = all[starts[at]+1:]
	if before > 0 {
		r.times, r.ended = all[starts[at]+1:starts[at+1]], true
	}
	for range starts[at] - at { // the lines of earlier containers
		_, _ = r.lines.ReadString('\n') // they are there: their times are
	}
	return r, nil
}

// readTimes returns the times that were added to the file.
func (r *logReader) readTimes() []int64 {
	var all []int64
	var next [8]byte
	for {
		n, err := io.ReadFull(r.timesFile, next[:])
		if err != nil {
			_, _ = r.timesFile.Seek(-int64(n), io.SeekCurrent) // the rest of it comes
			return all
		}
		all = append(all, int64(binary.LittleEndian.Uint64(next[:])))
	}
}

// skip leaves out so many lines.
func (r *logReader) skip(n int) {
	for range max(n, 0) {
		_, _ = r.lines.ReadString('\n')
		r.times = r.times[1:]
	}
}

// copy writes the lines until their end, and while goesOn returns true also later ones.
func (r *logReader) copy(ctx context.Context, to io.Writer, goesOn func() bool) error {
	defer r.timesFile.Close()
	for {
		goes := goesOn() // before the last lines are read
		if err := r.take(to); err != nil {
			return err
		}
		if r.ended || !goes {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// take writes the lines that are there.
func (r *logReader) take(to io.Writer) error {
	if !r.ended {
		r.times = append(r.times, r.readTimes()...)
	}
	for _, t := range r.times {
		if t == 0 {
			r.ended = true
			break
		}
		text, err := r.lines.ReadString('\n')
		if err != nil {
			return err
		}
		if _, err := io.WriteString(to, time.Unix(0, t).UTC().Format(time.RFC3339Nano)+" "+text); err != nil {
			return err
		}
	}
	r.times = nil
	return nil
}
