// Package metrics says what the operator tells Prometheus of jobs, as values: which families there are, and what a status tells of them.
//
//	Observe   one written status, beside the one before it: what to count (restarts, times lost, recoveries)
//	Fleet     all jobs at one moment: how many there are in each phase, and what is wrong with them
//	OfJob     one job at one moment, for the series by job
//
// It has no registry and no clock: pkg/controller keeps the counters and reads the cache. docs/metrics.md is made of the catalogue.
//
// Decisions, newest first:
//   - Counters and histograms begin with the process, as Prometheus expects it. A status is written once, so what it says is counted once;
//     an operator that dies between the write and the count leaves it out. What must be exact is in the status.
//   - Time is told as the status adds it up. It does not tell the decision from the detection, nor the stop of pods from the
//     back-off after it, so no label does.
//   - No label holds a text of a user's. The names of jobs and namespaces are only on the series by job, which a flag turns on.
package metrics
