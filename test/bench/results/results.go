// Package results keeps what bench peers has measured: a file that every run adds to, and the table and the picture made of it.
//
// Only figures of one run are ever compared: times are given beside those of pods by hand in the same run. Of each row and maker the newest
// run counts.
package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// File is all that was measured so far, the oldest run first.
type File struct {
	Runs []Run `json:"runs"`
}

// Run is one run of bench peers.
type Run struct {
	Begin      time.Time `json:"begin"`
	End        time.Time `json:"end"`
	Kubernetes string    `json:"kubernetes"`
	Cores      int       `json:"cores"`
	// Machine is the name of the processor and the memory; empty in runs before 29 November 2026.
	Machine string `json:"machine,omitempty"`
	Nodes   int    `json:"nodes"`
	// LoadBefore and LoadAfter are the machine's load averages of a minute.
	LoadBefore float64 `json:"loadBefore"`
	LoadAfter  float64 `json:"loadAfter"`
	Cells      []Cell  `json:"cells"`
}

// Cell is what a run says of one maker in one row.
type Cell struct {
	Row     string `json:"row"`
	Title   string `json:"title"`
	Maker   string `json:"maker"`
	Version string `json:"version,omitempty"`
	// Cannot is why there are no figures, or none in some rounds.
	Cannot string `json:"cannot,omitempty"`
	// Rounds are the figures, one for each round in which there are any.
	Rounds []Figures `json:"rounds,omitempty"`
}

// Figures are what one round has measured.
type Figures struct {
	Seconds float64 `json:"seconds"`
	Cost    Cost    `json:"cost"`
}

// Cost is what the maker's controllers spent.
type Cost struct {
	// Requests are those of the maker's controllers but for Leases and watches; Borrowed those of Kubernetes' controllers of Jobs and
	// StatefulSets, which make pods for some.
	Requests int `json:"requests"`
	Borrowed int `json:"borrowed"`
	// CPUSeconds and PeakMB (the peak of resident memory) are of the maker's own processes; 0 if it has none.
	CPUSeconds float64 `json:"cpuSeconds"`
	PeakMB     float64 `json:"peakMB"`
	// EtcdMB is what etcd has written to its log, WatchMB what the API server has sent to all watchers.
	EtcdMB  float64 `json:"etcdMB"`
	WatchMB float64 `json:"watchMB"`
}

// Record adds a round's figures to the run, or why there are none.
func (r *Run) Record(cell Cell, figures Figures) {
	at := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Row == cell.Row && c.Maker == cell.Maker })
	if at < 0 {
		at = len(r.Cells)
		r.Cells = append(r.Cells, cell)
	}
	if cell.Cannot != "" {
		r.Cells[at].Cannot = cell.Cannot
		return
	}
	r.Cells[at].Rounds = append(r.Cells[at].Rounds, figures)
}

// Read returns what the file holds; nothing if it is not there.
func Read(path string) (File, error) {
	var file File
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return file, fmt.Errorf("reading results: %w", err)
	}
	if err := json.Unmarshal(content, &file); err != nil {
		return file, fmt.Errorf("reading results from %s: %w", path, err)
	}
	return file, nil
}

// Add adds a run to the file, in the place of what was there of the same run.
func Add(path string, run Run) error {
	file, err := Read(path)
	if err != nil {
		return err
	}
	file.Runs = append(slices.DeleteFunc(file.Runs, func(r Run) bool { return r.Begin.Equal(run.Begin) }), run)
	content, err := json.MarshalIndent(file, "", " ")
	if err != nil {
		return fmt.Errorf("encoding results: %w", err)
	}
	next := path + ".next"
	if err := os.WriteFile(next, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	return os.Rename(next, path)
}
