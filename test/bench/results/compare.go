package results

import (
	"slices"
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

func (r Run) cell(row, maker string) *Cell {
	for i := range r.Cells {
		if r.Cells[i].Row == row && r.Cells[i].Maker == maker {
			return &r.Cells[i]
		}
	}
	return nil
}

// median returns the figures of the round whose time is the median: time and cost belong together.
func (c Cell) median() Figures {
	if len(c.Rounds) == 0 {
		return Figures{}
	}
	rounds := slices.Clone(c.Rounds)
	slices.SortFunc(rounds, func(a, b Figures) int { return int(1e6 * (a.Seconds - b.Seconds)) })
	return rounds[(len(rounds)-1)/2]
}
