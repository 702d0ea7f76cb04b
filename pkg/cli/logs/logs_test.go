package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

var epoch = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// kubelet plays the log of one container: what the container wrote so far, and streams of it that break.
type kubelet struct {
	mu      sync.Mutex
	random  *rand.Rand
	files   []*file // one for each time the container was started
	is      Container
	changed chan struct{}
}

// file is the log of one run of the container.
type file struct {
	text  bytes.Buffer // each line with its time before it
	ended bool
}

func newKubelet(random *rand.Rand) *kubelet {
	return &kubelet{random: random, changed: make(chan struct{})}
}

func (k *kubelet) change(do func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	do()
	close(k.changed)
	k.changed = make(chan struct{})
}

func (k *kubelet) look() (Container, <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.is, k.changed
}

func (k *kubelet) write(at time.Time, text string) {
	k.change(func() {
		fmt.Fprintf(&k.files[len(k.files)-1].text, "%s %s\n", at.Format(time.RFC3339Nano), text)
	})
}

// Open plays the kubelet's part: lines from a whole second on, of this run or the one before, until the run ends; now and then the
// stream breaks anywhere, with an error or without.
func (k *kubelet) Open(_ context.Context, _, _ string, o Options) (io.ReadCloser, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := len(k.files) - 1
	if o.Previous {
		at--
	}
	if at < 0 {
		return nil, errors.New("no such log")
	}
	if k.random.Intn(4) == 0 {
		return nil, errors.New("the kubelet does not answer")
	}
	s := &stream{k: k, f: k.files[at], o: o, breaks: -1}
	if k.random.Intn(2) == 0 {
		s.breaks = k.random.Intn(400)
	}
	return s, nil
}

// stream is one reading of a file. breaks is after how many bytes it breaks; negative for never.
type stream struct {
	k      *kubelet
	f      *file
	o      Options
	at     int
	buffer []byte
	breaks int
}

func (s *stream) Read(p []byte) (int, error) {
	for {
		s.k.mu.Lock()
		s.fill()
		ended, changed := s.f.ended || !s.o.Follow, s.k.changed
		clean := s.k.random.Intn(2) == 0
		s.k.mu.Unlock()
		if s.breaks == 0 {
			if clean {
				return 0, io.EOF
			}
			return 0, io.ErrUnexpectedEOF
		}
		if len(s.buffer) > 0 {
			n := min(len(s.buffer), len(p), 1+s.k.random.Intn(60))
			if s.breaks > 0 {
				n = min(n, s.breaks)
				s.breaks -= n
			}
			copy(p, s.buffer[:n])
			s.buffer = s.buffer[n:]
			return n, nil
		}
		if ended {
			return 0, io.EOF
		}
		<-changed
	}
}

// fill takes over what was written since, without lines that are too old.
func (s *stream) fill() {
	for {
		rest := s.f.text.Bytes()[s.at:]
		n := bytes.IndexByte(rest, '\n')
		if n < 0 {
			return
		}
		line := rest[:n+1]
		s.at += n + 1
		stamp, _, _ := strings.Cut(string(line), " ")
		at, _ := time.Parse(time.RFC3339Nano, stamp)
		if !at.Before(s.o.From) {
			s.buffer = append(s.buffer, line...)
		}
	}
}

func (s *stream) Close() error { return nil }

// Whatever breaks, every line that a container wrote is read once, in order: with several lines in the same nanosecond and many in
// the same second, with containers that are started again in their pod, for another life or the same, and whether the status tells of
// that early or, once a line was read of the log before, late.
func TestEveryLineIsReadOnce(t *testing.T) {
	for seed := range int64(300) {
		random := rand.New(rand.NewSource(seed))
		k := newKubelet(rand.New(rand.NewSource(-1 - seed))) // of its own, as it breaks streams while the test writes
		var want, got []string
		var begun atomic.Bool
		done := make(chan error, 1)
		r := &reader{opener: k, pod: "p", container: "c", first: Options{Tail: -1}, look: k.look, wants: all, pause: time.Microsecond, position: position{patience: math.MaxInt}, take: func(l Line) bool {
			got = append(got, l.Life.String()+" "+l.Text)
			begun.Store(true)
			return true
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		go func() { done <- r.follow(ctx) }()
		now := epoch
		told := random.Intn(2)
		for start := range 1 + random.Intn(2) {
			now = now.Add(time.Millisecond) // no container ends and starts again in the same nanosecond
			begin := func() { k.files = append(k.files, &file{}) }
			tell := func() {
				k.is = Container{Started: true, Restarts: int32(start), Life: state.Life{Attempt: told * start}}
			}
			if start > 0 && begun.Load() {
				k.change(begin)
				time.Sleep(time.Duration(random.Intn(200)) * time.Microsecond) // the kubelet knows more than it has written
				k.change(tell)
			} else {
				k.change(func() { begin(); tell() })
			}
			for range random.Intn(60) {
				now = now.Add([]time.Duration{0, 0, time.Nanosecond, time.Millisecond, 300 * time.Millisecond}[random.Intn(5)])
				text := fmt.Sprintf("line %d", len(want))
				want = append(want, k.is.Life.String()+" "+text)
				k.write(now, text)
			}
			k.change(func() { k.is.Restarting = told == 1 })
			k.change(func() { k.files[len(k.files)-1].ended = true })
		}
		k.change(func() { k.is.Ended, k.is.Restarting = true, false })
		err := <-done
		cancel()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("seed %d: %v; lines (-written +read):\n%s", seed, err, diff)
		}
	}
}

// A container was started again, its log is opened, and the status does not tell of that yet: nothing is taken from it until it does,
// and what is left of the log before comes first.
func TestALogThatDoesNotGoOn(t *testing.T) {
	k := newKubelet(rand.New(rand.NewSource(7)))
	k.is = Container{Started: true}
	text := func(numbers ...int) *bytes.Buffer {
		var b bytes.Buffer
		for _, n := range numbers {
			fmt.Fprintf(&b, "%s %d\n", epoch.Add(time.Duration(n)*time.Millisecond).Format(time.RFC3339Nano), n)
		}
		return &b
	}
	first, second := []int{1, 2, 2, 3}, []int{4, 5}
	readings := 0
	opener := openerFunc(func(o Options) (io.ReadCloser, error) {
		readings++
		switch {
		case readings == 1: // breaks off between two lines of one time
			return io.NopCloser(text(first[:2]...)), nil
		case o.Previous:
			return io.NopCloser(text(first...)), nil
		case readings == 4:
			k.change(func() { k.is = Container{Started: true, Ended: true, Restarts: 1} })
		}
		return io.NopCloser(text(second...)), nil
	})
	var got []string
	r := &reader{opener: opener, look: k.look, wants: all, first: Options{Tail: -1}, pause: time.Microsecond, position: position{patience: patience}, take: func(l Line) bool {
		got = append(got, l.Text)
		return true
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := r.follow(ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1", "2", "2", "3", "4", "5"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// A log that cannot be read is tried again for ever, and the reason is shown once in a row of failures.
func TestALogThatCannotBeRead(t *testing.T) {
	k := newKubelet(rand.New(rand.NewSource(7)))
	k.is = Container{Started: true}
	refused, readings, shown := errors.New("the API server does not reach the kubelet"), 0, 0
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	opener := openerFunc(func(Options) (io.ReadCloser, error) {
		switch readings++; readings {
		case 5 * mostFailures:
			cancel()
		case 2 * mostFailures: // it can be read for once
			return io.NopCloser(strings.NewReader(epoch.Format(time.RFC3339Nano) + " line\n")), nil
		}
		return nil, refused
	})
	r := &reader{opener: opener, look: k.look, wants: all, first: Options{Tail: -1}, pause: time.Microsecond, position: position{patience: patience},
		take: func(Line) bool { return true }, unread: func(err error) {
			if shown++; !errors.Is(err, refused) {
				t.Errorf("shown: %v", err)
			}
		}}
	if err := r.follow(ctx); err != nil || shown != 2 {
		t.Errorf("shown %d times, want 2, one for each row of failures (%v)", shown, err)
	}
}

// openerFunc opens what a function returns.
type openerFunc func(Options) (io.ReadCloser, error)

func (f openerFunc) Open(_ context.Context, _, _ string, o Options) (io.ReadCloser, error) {
	return f(o)
}

// A container may end in the middle of a line, and that counts as one.
func TestALastLineWithoutAnEnd(t *testing.T) {
	k := newKubelet(rand.New(rand.NewSource(7)))
	k.files, k.is = []*file{{ended: true}}, Container{Started: true, Ended: true}
	k.write(epoch, "whole")
	k.files[0].text.WriteString(epoch.Format(time.RFC3339Nano) + " half")
	var got []string
	r := &reader{opener: wholeFile{k}, look: k.look, wants: all, first: Options{Tail: -1}, position: position{patience: patience}, take: func(l Line) bool { got = append(got, l.Text); return true }}
	if err := r.follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"whole", "half"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// wholeFile opens a log that never breaks.
type wholeFile struct{ k *kubelet }

func (w wholeFile) Open(context.Context, string, string, Options) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(w.k.files[0].text.Bytes())), nil
}

// The kubelet answers with a sentence in place of a log that is gone.
func TestALogThatIsGone(t *testing.T) {
	for _, end := range []string{"", "\n"} {
		k := newKubelet(rand.New(rand.NewSource(7)))
		k.files, k.is = []*file{{ended: true}}, Container{Started: true, Ended: true}
		k.files[0].text.WriteString("unable to retrieve container logs for containerd://abc" + end)
		r := &reader{opener: wholeFile{k}, look: k.look, wants: all, first: Options{Tail: -1}, position: position{patience: patience}, take: func(l Line) bool { t.Errorf("line %q", l.Text); return true }}
		if err := r.follow(t.Context()); !errors.Is(err, errGone) || !strings.Contains(err.Error(), "unable to retrieve") {
			t.Errorf("error: %v", err)
		}
	}
}

// What Merger returns is sorted, complete, and keeps the order of each source; nothing is returned while an earlier line may come.
func TestMerger(t *testing.T) {
	for seed := range int64(500) {
		random := rand.New(rand.NewSource(seed))
		m := Merger{Silence: -1}
		var all [][]Line
		total := 0
		for s := range 1 + random.Intn(5) {
			m.Open(epoch)
			at := epoch
			var lines []Line
			for i := range random.Intn(30) {
				at = at.Add(time.Duration(random.Intn(3)) * time.Second)
				lines = append(lines, Line{Time: at, Text: fmt.Sprintf("%d-%d", s, i)})
			}
			all, total = append(all, lines), total+len(lines)
		}
		var got []Line
		take := func() {
			for _, line, ok := m.Next(epoch); ok; _, line, ok = m.Next(epoch) {
				got = append(got, line)
			}
		}
		fed := make([]int, len(all))
		for slices.ContainsFunc(m.sources, func(s *source) bool { return s.open }) {
			s := random.Intn(len(all))
			if fed[s] < len(all[s]) {
				m.Add(s, all[s][fed[s]], epoch)
				fed[s]++
			} else {
				m.Close(s)
			}
			take()
		}
		if len(got) != total || !m.IsEmpty() {
			t.Fatalf("seed %d: %d of %d lines", seed, len(got), total)
		}
		if !slices.IsSortedFunc(got, func(a, b Line) int { return a.Time.Compare(b.Time) }) {
			t.Fatalf("seed %d: not in order: %v", seed, got)
		}
	}
}

// A source that is silent holds up the others for so long and no longer, and a clock that is set back takes no line away.
func TestMergerGoesOnWithoutASilentSource(t *testing.T) {
	m := Merger{Silence: time.Second}
	m.Open(epoch)
	m.Open(epoch)
	m.Add(0, Line{Time: epoch.Add(5 * time.Second), Text: "a"}, epoch)
	m.Add(0, Line{Time: epoch, Text: "b"}, epoch)
	if _, line, ok := m.Next(epoch.Add(999 * time.Millisecond)); ok {
		t.Errorf("too early: %v", line)
	}
	var got []string
	for _, line, ok := m.Next(epoch.Add(time.Second)); ok; _, line, ok = m.Next(epoch.Add(time.Second)) {
		got = append(got, line.Text)
	}
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestRanks(t *testing.T) {
	job := builder.Job("j", builder.Leader(v1alpha1.Chief), builder.Workers(8))
	cases := []struct {
		text string
		want []int
		fail string
	}{
		{"0,3-5,last", []int{0, 3, 4, 5, 8}, ""},
		{"6-last", []int{6, 7, 8}, ""},
		{"last", []int{8}, ""},
		{"9", nil, "has the ranks 0 to 8"},
		{"5-3", nil, "smaller rank of 5-3 first"},
		{"x", nil, "write ranks"},
		{"1,,2", nil, "write ranks"},
		{"-1", nil, "write ranks"},
	}
	for _, c := range cases {
		ranks, err := parseRanks(c.text, job)
		var got []int
		for rank := range ranks {
			got = append(got, rank)
		}
		slices.Sort(got)
		if c.fail == "" && (err != nil || !slices.Equal(got, c.want)) || c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)) {
			t.Errorf("%q: ranks %v and error %v, want %v and %q", c.text, got, err, c.want, c.fail)
		}
	}
}

// all wants every life.
func all(state.Life) bool { return true }
