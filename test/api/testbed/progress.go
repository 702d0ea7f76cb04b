package testbed

import (
	"fmt"
	"os"
	"time"

	"github.com/onsi/ginkgo/v2/types"
)

// Progress tells on standard error how far a suite is, with the time since its start.
type Progress struct {
	began time.Time
	// failures are the specs that have failed, each with its message.
	failures []string
}

// NewProgress returns the progress of a suite that starts now.
func NewProgress() *Progress { return &Progress{began: time.Now()} }

// Say prints a line.
func (p *Progress) Say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(p.began).Seconds(), fmt.Sprintf(format, args...))
}

// Report prints how a spec has ended, unless it was skipped.
func (p *Progress) Report(report types.SpecReport) {
	if report.Failed() {
		p.failures = append(p.failures, fmt.Sprintf("%s: %s", report.LeafNodeText, report.FailureMessage()))
	}
	if report.State != types.SpecStateSkipped {
		p.Say("%s in %.0f s: %s", report.State, report.RunTime.Seconds(), report.LeafNodeText)
	}
}

// Conclude prints why specs failed once more: of a long log, the end is read, or is all that was kept.
func (p *Progress) Conclude() {
	for _, failure := range p.failures {
		p.Say("failed: %s", failure)
	}
}

// HasFailed reports whether a spec has failed so far.
func (p *Progress) HasFailed() bool { return len(p.failures) > 0 }
