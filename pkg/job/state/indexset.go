package state

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// maxIndex bounds what a status may name. A job that the schema lets through has at most 10,000 replicas; decisions are tested with as
// many as this, so that the schema is the only bound.
const maxIndex = 1 << 16

// IndexSet is a set of replica indexes; its text form is "0-3,5". The zero value is the empty set.
type IndexSet struct{ words []uint64 }

// Add puts i into the set.
func (s *IndexSet) Add(i int) {
	for len(s.words) <= i/64 {
		s.words = append(s.words, 0)
	}
	s.words[i/64] |= 1 << (i % 64)
}

// Remove takes i out of the set.
func (s *IndexSet) Remove(i int) {
	if i/64 < len(s.words) {
		s.words[i/64] &^= 1 << (i % 64)
	}
}

// Truncate takes every index from n on out of the set.
func (s *IndexSet) Truncate(n int) {
	for i := n; i < len(s.words)*64; i++ {
		s.Remove(i)
	}
}

// From returns the indexes of the set from n on.
func (s *IndexSet) From(n int) []int {
	var list []int
	for i := n; i < len(s.words)*64; i++ {
		if s.Has(i) {
			list = append(list, i)
		}
	}
	return list
}

// Has reports whether i is in the set.
func (s *IndexSet) Has(i int) bool { return i/64 < len(s.words) && s.words[i/64]&(1<<(i%64)) != 0 }

// Len returns the number of indexes in the set.
func (s *IndexSet) Len() int {
	n := 0
	for _, word := range s.words {
		n += bits.OnesCount64(word)
	}
	return n
}

// String returns the set as sorted intervals: "0-3,5".
func (s *IndexSet) String() string {
	return formatRuns(len(s.words)*64, func(i int) string {
		if s.Has(i) {
			return "in"
		}
		return ""
	}, func(run, _ string) string { return run })
}

// ParseIndexSet is the inverse of String; it returns an error that names the part it cannot read.
func ParseIndexSet(text string) (IndexSet, error) {
	var s IndexSet
	for _, part := range parts(text) {
		first, last, err := parseRun(part)
		if err != nil {
			return IndexSet{}, err
		}
		for i := first; i <= last; i++ {
			s.Add(i)
		}
	}
	return s, nil
}

// formatRuns writes the indexes below n as runs of equal, non-empty value.
func formatRuns(n int, value func(int) string, show func(run, value string) string) string {
	var runs []string
	for i := 0; i < n; i++ {
		first, v := i, value(i)
		if v == "" {
			continue
		}
		for i+1 < n && value(i+1) == v {
			i++
		}
		run := strconv.Itoa(first)
		if i > first {
			run += "-" + strconv.Itoa(i)
		}
		runs = append(runs, show(run, v))
	}
	return strings.Join(runs, ",")
}

func parseRun(part string) (first, last int, err error) {
	from, to, isRange := strings.Cut(part, "-")
	if first, err = strconv.Atoi(from); err != nil {
		return 0, 0, fmt.Errorf("index set: %q is not a number or range", part)
	}
	last = first
	if isRange {
		if last, err = strconv.Atoi(to); err != nil {
			return 0, 0, fmt.Errorf("index set: %q is not a range", part)
		}
	}
	if first < 0 || last < first || last >= maxIndex {
		return 0, 0, fmt.Errorf("index set: range %q is out of bounds", part)
	}
	return first, last, nil
}

func parts(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// Counts holds a number by replica index; its text form is "0-3:1,5:2", zeros left out.
type Counts map[int]int

// String returns the counts as sorted runs of equal numbers.
func (c Counts) String() string {
	if len(c) == 0 {
		return ""
	}
	n := slices.Max(slices.Collect(maps.Keys(c))) + 1
	return formatRuns(n, func(i int) string {
		if c[i] == 0 {
			return ""
		}
		return strconv.Itoa(c[i])
	}, func(run, count string) string { return run + ":" + count })
}

// ParseCounts is the inverse of String; it returns an error that names the part it cannot read.
func ParseCounts(text string) (Counts, error) {
	counts := Counts{}
	for _, part := range parts(text) {
		run, number, _ := strings.Cut(part, ":")
		first, last, err := parseRun(run)
		if err != nil {
			return nil, err
		}
		count, err := strconv.Atoi(number)
		if err != nil || count < 1 {
			return nil, fmt.Errorf("counts: %q has no positive number behind the colon", part)
		}
		for i := first; i <= last; i++ {
			counts[i] = count
		}
	}
	return counts, nil
}
