package report

import (
	"slices"
	"time"
)

const (
	// mostAlone is the largest number of replicas that each have a row of their own: a page is then as high as two screens.
	mostAlone = 128
	// mostRows is the maximum number of rows in the picture of more replicas, except one for each role.
	mostRows = 40
	// mostSegments is how many segments a picture draws as they are; of more it draws columns.
	mostSegments = 2000
	// columns is how finely time is divided then.
	columns = 160
)

// rows returns the replicas as the rows of a picture: above mostAlone a row stands for several.
func rows(list []Replicas) []Replicas {
	total := 0
	for i := range list {
		total += list[i].Last - list[i].First + 1
	}
	perRow := 1
	if total > mostAlone {
		perRow = (total + mostRows - 1) / mostRows
	}
	var picture []Replicas
	var shared [][]Segment
	for i := range list {
		r := &list[i]
		for first := r.First; first <= r.Last; first += perRow - first%perRow {
			last := min(r.Last, first+perRow-1-first%perRow)
			n := len(picture) - 1
			if n < 0 || picture[n].Role != r.Role || picture[n].First/perRow != first/perRow {
				picture, shared = append(picture, Replicas{Role: r.Role, First: first, Rank: r.Rank + first - r.First}), append(shared, nil)
				n++
			}
			picture[n].Last, shared[n] = last, append(shared[n], r.Segments...)
			if isLast := i+1 == len(list) || list[i+1].Role != r.Role || list[i+1].First/perRow != first/perRow; isLast || last < r.Last {
				picture[n].Segments, shared[n] = leastGood(shared[n]), nil
			}
		}
	}
	return coarse(picture)
}

// leastGood returns a row that shows, at each time, the least good of the segments that lie over each other.
func leastGood(segments []Segment) []Segment {
	type edge struct {
		at    time.Time
		state int
		by    int
	}
	edges := make([]edge, 0, 2*len(segments))
	for _, s := range segments {
		n := slices.Index(States, s.State)
		edges = append(edges, edge{s.From, n, 1}, edge{s.To, n, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return a.at.Compare(b.at) })
	count := make([]int, len(States))
	isThere := func(n int) bool { return n > 0 }
	var row []Segment
	for i, e := range edges {
		if worst := slices.IndexFunc(count, isThere); i > 0 && worst >= 0 {
			row = append(row, Segment{States[worst], Interval{From: edges[i-1].at, To: e.at}})
		}
		count[e.state] += e.by
	}
	return tidy(row)
}

// lessGood returns the less good of two states; ok is false if there is none.
func lessGood(a, b State) (worst State, ok bool) {
	for _, s := range States {
		if a == s || b == s {
			return s, true
		}
	}
	return "", false
}

// coarse returns the rows in columns of time if they have too many segments to draw each.
func coarse(picture []Replicas) []Replicas {
	segments := 0
	var from, to time.Time
	for i := range picture {
		row := picture[i].Segments
		segments += len(row)
		if len(row) > 0 && (from.IsZero() || row[0].From.Before(from)) {
			from = row[0].From
		}
		if len(row) > 0 && row[len(row)-1].To.After(to) {
			to = row[len(row)-1].To
		}
	}
	if segments <= mostSegments {
		return picture
	}
	step := max(1, to.Sub(from)/columns)
	for i := range picture {
		picture[i].Segments = inColumns(picture[i].Segments, from, to, step)
	}
	return picture
}

// inColumns returns a row in steps of time, each with the least good state that it had.
func inColumns(row []Segment, from, to time.Time, step time.Duration) []Segment {
	var list []Segment
	next := 0
	for t := from; t.Before(to); t = t.Add(step) {
		end := t.Add(step)
		var worst State
		for i := next; i < len(row) && row[i].From.Before(end); i++ {
			if row[i].To.After(t) {
				worst, _ = lessGood(worst, row[i].State)
			}
			if !row[i].To.After(end) {
				next = i + 1
			}
		}
		if worst != "" {
			list = append(list, Segment{worst, Interval{From: t, To: end}})
		}
	}
	return tidy(list)
}
