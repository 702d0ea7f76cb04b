package results

import (
	"cmp"
	"slices"
	"strings"
)

// Limit is the maker that others are compared with.
const Limit = "pods by hand"

// AsShipped ends the names of makers whose controllers have the settings that they ship with, not their fastest ones.
const AsShipped = " as shipped"

// Comparison is what all runs say: of each row and maker the newest.
type Comparison struct {
	Rows   []Row
	Makers []Maker
	runs   []Run
}

// RowNames are the rows, in the order of the tables.
var RowNames = []string{"large", "small", "huge", "restart", "replace", "node", "rest"}

// Row is a row that was measured.
type Row struct{ Name, Title string }

// Maker is a maker in the order in which makers were first measured.
type Maker struct{ Name, Version string }

// Compared is a cell beside the limit.
type Compared struct {
	Cell
	Figures
	// Times is how many times the limit's time it took, in the same run; 0 if the run has no limit.
	Times float64
}

// Compare returns the newest of all runs.
func (f File) Compare() Comparison {
	c := Comparison{runs: f.Runs}
	for _, run := range f.Runs {
		for _, cell := range run.Cells {
			c.add(cell)
		}
	}
	slices.SortStableFunc(c.Rows, func(a, b Row) int { return slices.Index(RowNames, a.Name) - slices.Index(RowNames, b.Name) })
	return c
}

func (c *Comparison) add(cell Cell) {
	if at := slices.IndexFunc(c.Rows, func(r Row) bool { return r.Name == cell.Row }); at < 0 {
		c.Rows = append(c.Rows, Row{cell.Row, cell.Title})
	} else {
		c.Rows[at].Title = cell.Title
	}
	if at := slices.IndexFunc(c.Makers, func(m Maker) bool { return m.Name == cell.Maker }); at < 0 {
		c.Makers = append(c.Makers, Maker{cell.Maker, cell.Version})
	} else {
		c.Makers[at].Version = cell.Version
	}
}

// Of returns what the newest run says of a maker in a row; nil if there is none.
func (c Comparison) Of(row, maker string) *Compared {
	run := c.newest(row, maker)
	cell := run.cell(row, maker)
	if cell == nil {
		return nil
	}
	found := &Compared{Cell: *cell, Figures: cell.median()}
	if limit := run.cell(row, Limit); limit != nil && len(limit.Rounds) > 0 && len(cell.Rounds) > 0 {
		found.Times = found.Seconds / limit.median().Seconds
	}
	return found
}

// newest returns the newest run with the maker in the row; an empty one if there is none.
func (c Comparison) newest(row, maker string) Run {
	for _, run := range slices.Backward(c.runs) {
		if run.cell(row, maker) != nil {
			return run
		}
	}
	return Run{}
}

// isOurs reports whether this operator ran it, however it was set: a TrainingJob, or a job of Kubeflow that it served.
func (m Maker) isOurs() bool { return m.isTrainingJob() || strings.Contains(m.Name, ", served") }

func (m Maker) isTrainingJob() bool {
	name, _, _ := strings.Cut(m.Name, ",")
	return name == "TrainingJob"
}

// isPeer reports whether the maker is a controller by others.
func (m Maker) isPeer() bool { return !m.isOurs() && !strings.HasSuffix(m.Name, "by hand") }

func (r Run) cell(row, maker string) *Cell {
	for i := range r.Cells {
		if r.Cells[i].Row == row && r.Cells[i].Maker == maker {
			return &r.Cells[i]
		}
	}
	return nil
}

// enough is how many rounds a cell needs before its range counts for who is ahead.
const enough = 3

// IsAhead reports whether each round of the maker took less time than each of the other's: of one run, with at least three rounds each, none of
// which failed.
func (c Comparison) IsAhead(row, maker, other string) bool {
	a, b := c.Of(row, maker), c.Of(row, other)
	if a == nil || b == nil || a.Cannot != "" || b.Cannot != "" || min(len(a.Rounds), len(b.Rounds)) < enough {
		return false
	}
	return c.newest(row, maker).Begin.Equal(c.newest(row, other).Begin) && a.sorted()[len(a.Rounds)-1].Seconds < b.sorted()[0].Seconds
}

// median returns the figures of the round whose time is the median: time and cost belong together.
func (c Cell) median() Figures {
	if len(c.Rounds) == 0 {
		return Figures{}
	}
	return c.sorted()[(len(c.Rounds)-1)/2]
}

// sorted returns the rounds, the shortest time first.
func (c Cell) sorted() []Figures {
	return slices.SortedFunc(slices.Values(c.Rounds), func(a, b Figures) int { return cmp.Compare(a.Seconds, b.Seconds) })
}
