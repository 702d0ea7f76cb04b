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
	// failed is whether a spec has failed.
	failed bool
}

// NewProgress returns the progress of a suite that starts now.
func NewProgress() *Progress { return &Progress{began: time.Now()} }

// Say prints a line.
func (p *Progress) Say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(p.began).Seconds(), fmt.Sprintf(format, args...))
}

// Report prints how a spec has ended, unless it was skipped.
func (p *Progress) Report(report types.SpecReport) {
	p.failed = p.failed || report.Failed()
	if report.State != types.SpecStateSkipped {
		p.Say("%s in %.0f s: %s", report.State, report.RunTime.Seconds(), report.LeafNodeText)
	}
}

// HasFailed reports whether a spec has failed so far.
func (p *Progress) HasFailed() bool { return p.failed }
