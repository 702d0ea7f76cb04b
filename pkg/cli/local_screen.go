package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/state"
)

// localScreen shows a local run: each decision and each line of the replicas, and on a terminal a table of the replicas below them.
type localScreen struct {
	tool   *tool
	began  time.Time
	colour map[string]string

	mu sync.Mutex
	// painted is how many lines the table has, table its text without the last lines of the replicas.
	painted int
	view    *story.View
	last    map[string]string
	renewed time.Time
}

// renewEvery is how often lines of replicas renew the table at most.
const renewEvery = 250 * time.Millisecond

func (t *tool) localScreen(job *v1alpha1.TrainingJob) *localScreen {
	s := &localScreen{tool: t, began: t.now(), colour: map[string]string{}, last: map[string]string{}}
	for _, role := range job.Spec.Roles() {
		for i := range int(job.Spec.Replicas(role)) {
			s.colour[state.Slot{Role: role, Index: i}.String()] = palette[len(s.colour)%len(palette)]
		}
	}
	return s
}

// Event shows an Event of the operator.
func (s *localScreen) Event(reason, message string) {
	s.print(s.tool.screen.paint(bold, fmt.Sprintf("%-11s %s: %s", "operator", reason, state.Printable(message))))
}

// Say shows what happens otherwise.
func (s *localScreen) Say(who, text string) {
	s.print(s.tool.screen.paint(yellow, fmt.Sprintf("%-11s %s", who, text)))
}

// Line shows a line of a replica. On a terminal it is in the replica's row of the table.
func (s *localScreen) Line(replica, text string) {
	text = strings.ReplaceAll(text, "\t", "    ")
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))] // of a traceback
	text = state.Printable(text)
	if s.tool.screen.isTerminal {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last[replica] = text
		if now := s.tool.now(); now.Sub(s.renewed) > renewEvery {
			s.renewed = now
			s.wipe()
			s.paint()
		}
		return
	}
	s.print(fmt.Sprintf("%-11s | %s%s", replica, indent, text))
}

// print prints a line, above the table.
func (s *localScreen) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	fmt.Fprintf(s.tool.Out, "%6.1fs  %s\n", s.tool.now().Sub(s.began).Seconds(), text)
	s.paint()
}

// Show renews the table.
func (s *localScreen) Show(job *v1alpha1.TrainingJob, pods []*corev1.Pod) {
	if !s.tool.screen.isTerminal {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view = &story.View{Job: job, Now: s.tool.now()}
	for _, pod := range pods {
		s.view.Pods = append(s.view.Pods, *pod)
	}
	s.wipe()
	s.paint()
}

// wipe removes the table.
func (s *localScreen) wipe() {
	if s.painted > 0 {
		fmt.Fprintf(s.tool.Out, "\x1b[%dA\x1b[J", s.painted)
	}
	s.painted = 0
}

// paint prints the table.
func (s *localScreen) paint() {
	if s.view == nil {
		return
	}
	lines, err := story.Replicas(s.view, mostRows)
	if err != nil {
		return
	}
	b := &strings.Builder{}
	status := &s.view.Job.Status
	fmt.Fprintf(b, "\n%s: %s, attempt %d, %s", s.view.Name(), cmp.Or(string(status.Phase), "-"), status.Attempt, story.Count(status.Restarts, "restart"))
	if status.Progress != nil {
		b.WriteString(", " + progressOf(status.Progress))
	}
	b.WriteString("\n")
	for _, l := range lines {
		fmt.Fprintf(b, "  %-14s %-10s %-7s %s\n", l.Names, l.State, l.Node, cmp.Or(l.Why, s.last[l.Names]))
	}
	text := s.tool.screen.cut(s.tool.screen.fit(b.String()))
	s.painted = strings.Count(text, "\n")
	_, _ = io.WriteString(s.tool.Out, text) // a broken terminal does not end the training
}

// close leaves the table as it is.
func (s *localScreen) close() { s.view, s.painted = nil, 0 }
