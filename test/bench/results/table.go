package results

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// costly are the rows whose costs have a table. The file keeps all other costs.
var costly = []string{"large", "small", "rest"}

// Markdown returns the tables of the document: all times, and the costs of some rows.
func (f File) Markdown() string {
	c := f.Compare()
	var text strings.Builder
	text.WriteString("Seconds, and the ratio to pods by hand.\n\n")
	c.times(&text)
	c.reasons(&text)
	for _, row := range c.Rows {
		if slices.Contains(costly, row.Name) {
			c.costs(&text, row)
		}
	}
	c.provenance(&text)
	return text.String()
}

// times writes the table of seconds.
func (c Comparison) times(text *strings.Builder) {
	head, line := "| |", "|---|"
	for _, row := range c.Rows {
		if row.isOfTime() {
			head, line = head+" "+row.Title+" |", line+"---|"
		}
	}
	fmt.Fprintf(text, "%s\n%s\n", head, line)
	for _, maker := range c.Makers {
		fmt.Fprintf(text, "| %s |", strings.TrimSpace(maker.Name+" "+strings.TrimPrefix(maker.Version, "v")))
		for _, row := range c.Rows {
			if row.isOfTime() {
				fmt.Fprintf(text, " %s |", c.Of(row.Name, maker.Name).time())
			}
		}
		text.WriteString("\n")
	}
	text.WriteString("\n")
}

// isOfTime reports whether the row's seconds are a result, not a choice.
func (r Row) isOfTime() bool { return r.Name != "rest" }

func (c *Compared) time() string {
	switch {
	case c == nil:
		return "-"
	case c.isTooSlow():
		return c.Cannot
	case c.Cannot != "":
		return "cannot"
	case c.Times > 0:
		return fmt.Sprintf("%s s, %.2f", seconds(c.Seconds), c.Times)
	default:
		return seconds(c.Seconds) + " s"
	}
}

// tooSlow is how the reason begins why something has no figure that was given its time.
const tooSlow = "not within "

// TooSlow returns the reason why what did not come to its end in that time has no figure.
func TooSlow(limit time.Duration) string {
	if limit%time.Minute == 0 {
		return fmt.Sprintf("%s%d min", tooSlow, int(limit.Minutes()))
	}
	return tooSlow + limit.String()
}

func (c *Compared) isTooSlow() bool { return strings.HasPrefix(c.Cannot, tooSlow) }

// seconds has two digits that mean something.
func seconds(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.2f", s)
	}
	return fmt.Sprintf("%.1f", s)
}

// reasons says of each cell without figures why.
func (c Comparison) reasons(text *strings.Builder) {
	for _, maker := range c.Makers {
		for _, row := range c.Rows {
			if cell := c.Of(row.Name, maker.Name); cell != nil && cell.Cannot != "" && !cell.isTooSlow() {
				fmt.Fprintf(text, "* %s, %s: %s.\n", maker.Name, row.Title, cell.Cannot)
			}
		}
	}
	text.WriteString("\n")
}

// costs writes what the row cost.
func (c Comparison) costs(text *strings.Builder, row Row) {
	var lines []string
	for _, maker := range c.Makers {
		cell := c.Of(row.Name, maker.Name)
		if cell == nil || cell.Cannot != "" || cell.Cost == (Cost{}) {
			continue
		}
		cost := cell.Cost
		own, cpu, peak := fmt.Sprint(cost.Requests), fmt.Sprintf("%.2f", cost.CPUSeconds), fmt.Sprintf("%.0f", cost.PeakMB)
		if cost.PeakMB == 0 {
			own, cpu, peak = "-", "-", "-"
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | %d | %s | %s | %.1f | %.1f |\n",
			maker.Name, own, cost.Borrowed, cpu, peak, cost.EtcdMB, cost.WatchMB))
	}
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(text, "| %s | requests | of Kubernetes' controllers | CPU s | peak MB | etcd MB | watches MB |\n|---|---|---|---|---|---|---|\n%s\n",
		row.Title, strings.Join(lines, ""))
}

// provenance says where the figures come from.
func (c Comparison) provenance(text *strings.Builder) {
	for _, run := range c.runs {
		if !c.counts(run) {
			continue
		}
		fmt.Fprintf(text, "* Run of %s: Kubernetes %s, %d fake nodes, %d cores, load %.1f before and %.1f after.\n",
			run.Begin.Format(time.DateTime), strings.TrimPrefix(run.Kubernetes, "v"), run.Nodes, run.Cores, run.LoadBefore, run.LoadAfter)
	}
	if missing := c.missing(); len(missing) > 0 {
		fmt.Fprintf(text, "* Rows without a measurement: %s.\n", strings.Join(missing, ", "))
	}
	text.WriteString("\n")
}

// missing are the names of the rows of which no run says anything.
func (c Comparison) missing() []string {
	return slices.DeleteFunc(slices.Clone(RowNames), func(name string) bool {
		return slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Name == name })
	})
}

// counts reports whether any cell of the run is in the tables.
func (c Comparison) counts(run Run) bool {
	for _, cell := range run.Cells {
		if c.newest(cell.Row, cell.Maker).Begin.Equal(run.Begin) {
			return true
		}
	}
	return false
}
