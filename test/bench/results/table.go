package results

import (
	"cmp"
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
	text.WriteString("Seconds, and their ratio to pods by hand in the same run. Several rounds have their median, with the shortest and the longest time " +
		"and the number of rounds. A cell without these is one round.\n\n")
	c.times(&text)
	c.reasons(&text)
	c.order(&text)
	for _, row := range c.Rows {
		if slices.Contains(costly, row.Name) {
			c.costs(&text, row)
		}
	}
	c.goals(&text)
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
	case len(c.Rounds) == 0:
		return c.Median()
	case c.Times > 0:
		return fmt.Sprintf("%s%s, %.2f%s", c.Median(), c.spread(), c.Times, c.otherRounds())
	default:
		return c.Median() + c.spread() + c.otherRounds()
	}
}

// otherRounds says that a round was given its time and has none.
func (c *Compared) otherRounds() string {
	if !strings.HasPrefix(c.Cannot, tooSlow) {
		return ""
	}
	return ", or " + c.Cannot
}

// Median returns the median of the times with its unit, or that there is none.
func (c *Compared) Median() string {
	switch {
	case len(c.Rounds) > 0:
		return seconds(c.Seconds) + " s"
	case c.isTooSlow():
		return c.Cannot
	default:
		return "cannot"
	}
}

// spread returns the shortest and the longest time, and the number of rounds; nothing of one round.
func (c *Compared) spread() string {
	if len(c.Rounds) < 2 {
		return ""
	}
	rounds := c.sorted()
	return fmt.Sprintf(" (%s to %s in %d)", seconds(rounds[0].Seconds), seconds(rounds[len(rounds)-1].Seconds), len(rounds))
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

func (c *Compared) isTooSlow() bool {
	return len(c.Rounds) == 0 && strings.HasPrefix(c.Cannot, tooSlow)
}

// seconds has two digits that mean something.
func seconds(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.2f", s)
	}
	return fmt.Sprintf("%.1f", s)
}

// reasons writes why a cell, or a round of it, has no figures.
func (c Comparison) reasons(text *strings.Builder) {
	for _, maker := range c.Makers {
		for _, row := range c.Rows {
			cell := c.Of(row.Name, maker.Name)
			switch {
			case cell == nil || cell.Cannot == "" || cell.isTooSlow():
			case len(cell.Rounds) > 0:
				fmt.Fprintf(text, "* %s, %s, a round without a time: %s.\n", maker.Name, row.Title, cell.Cannot)
			default:
				fmt.Fprintf(text, "* %s, %s: %s.\n", maker.Name, row.Title, cell.Cannot)
			}
		}
	}
	text.WriteString("\n")
}

// order writes which peers are ahead of a TrainingJob, and behind it.
func (c Comparison) order(text *strings.Builder) {
	fmt.Fprintf(text, "A peer is ahead or behind where each of its rounds took less or more time than each of the TrainingJob's, "+
		"in one run with at least %d rounds of both. Elsewhere the order is open.\n\n", enough)
	text.WriteString("| time | ahead of it | behind it | open |\n|---|---|---|---|\n")
	for _, row := range c.Rows {
		for _, ours := range c.Makers {
			if cell := c.Of(row.Name, ours.Name); row.isOfTime() && ours.isTrainingJob() && cell != nil && len(cell.Rounds) > 0 {
				fmt.Fprintf(text, "| %s, %s | %s |\n", ours.Name, row.Title, strings.Join(c.ordered(row.Name, ours.Name), " | "))
			}
		}
	}
	text.WriteString("\n")
}

// ordered returns the names of the peers with a time that are ahead, behind, and neither.
func (c Comparison) ordered(row, ours string) []string {
	var ahead, behind, open []string
	for _, m := range c.Makers {
		cell := c.Of(row, m.Name)
		switch {
		case cell == nil || len(cell.Rounds) == 0 || !m.isPeer():
		case c.IsAhead(row, m.Name, ours):
			ahead = append(ahead, m.Name)
		case c.IsAhead(row, ours, m.Name):
			behind = append(behind, m.Name)
		default:
			open = append(open, m.Name)
		}
	}
	var columns []string
	for _, names := range [][]string{ahead, behind, open} {
		columns = append(columns, cmp.Or(strings.Join(names, ", "), "-"))
	}
	if len(ahead)+len(behind) == 0 && len(open) > 0 {
		columns[2] = "all"
	}
	return columns
}

// goals are ratios to pods by hand that a TrainingJob should reach, with what does the same by hand.
var goals = []struct {
	row, maker, byHand string
	ratio              float64
}{
	{"large", "TrainingJob", "TrainingJob's objects by hand", 1.18},
	{"small", "TrainingJob", "TrainingJob's objects by hand", 1.25},
	{"restart", "TrainingJob, all pods new", "TrainingJob's objects by hand", 1.2},
	{"restart", "TrainingJob", "the patches in place by hand", 0.3},
}

// goals writes the goals beside what was measured.
func (c Comparison) goals(text *strings.Builder) {
	text.WriteString("| ratio to pods by hand | goal | measured | the same by hand |\n|---|---|---|---|\n")
	for _, g := range goals {
		if ours, byHand := c.Of(g.row, g.maker), c.Of(g.row, g.byHand); ours != nil && byHand != nil {
			fmt.Fprintf(text, "| %s, %s | %.2f | %.2f | %.2f |\n", g.maker, ours.Title, g.ratio, ours.Times, byHand.Times)
		}
	}
	text.WriteString("\n")
}

// costs writes what the row cost.
func (c Comparison) costs(text *strings.Builder, row Row) {
	var lines []string
	for _, maker := range c.Makers {
		cell := c.Of(row.Name, maker.Name)
		if cell == nil || cell.Cost == (Cost{}) {
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

// provenance writes of each run that counts what was measured in it, where, and beside what.
func (c Comparison) provenance(text *strings.Builder) {
	for _, run := range c.runs {
		rows := c.rowsOf(run)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(text, "* Run of %s: Kubernetes %s, %d fake nodes, %s, load %.1f before and %.1f after: %s.\n", run.Begin.Format(time.DateTime),
			strings.TrimPrefix(run.Kubernetes, "v"), run.Nodes, run.machine(), run.LoadBefore, run.LoadAfter, strings.Join(rows, ", "))
	}
	if missing := c.missing(); len(missing) > 0 {
		fmt.Fprintf(text, "* Rows without a measurement: %s.\n", strings.Join(missing, ", "))
	}
	text.WriteString("\n")
}

func (r Run) machine() string {
	if r.Machine == "" {
		return fmt.Sprintf("%d cores", r.Cores)
	}
	return fmt.Sprintf("%d cores (%s)", r.Cores, r.Machine)
}

// rowsOf returns the titles of the rows that have cells of the run, with the makers unless all cells of the row are of it.
func (c Comparison) rowsOf(run Run) []string {
	var all []string
	for _, row := range c.Rows {
		var of []string
		hasOthers := false
		for _, m := range c.Makers {
			switch newest := c.newest(row.Name, m.Name); {
			case newest.cell(row.Name, m.Name) == nil:
			case newest.Begin.Equal(run.Begin):
				of = append(of, m.Name)
			default:
				hasOthers = true
			}
		}
		switch {
		case len(of) > 0 && hasOthers:
			all = append(all, fmt.Sprintf("%s (%s)", row.Title, strings.Join(of, "; ")))
		case len(of) > 0:
			all = append(all, row.Title)
		}
	}
	return all
}

// missing are the names of the rows of which no run says anything.
func (c Comparison) missing() []string {
	return slices.DeleteFunc(slices.Clone(RowNames), func(name string) bool {
		return slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Name == name })
	})
}
