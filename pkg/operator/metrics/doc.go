// Package metrics holds what the operator reports of jobs to Prometheus, as values: the families there are, and the values that a status
// gives them.
//
//	Observe   one written status, beside the one before it: what to count (restarts, times lost, recoveries)
//	Fleet     all jobs at one moment: how many there are in each phase, and what is wrong with them
//	OfJob     one job at one moment, for the series by job
//
// It has no registry and no clock: pkg/operator/controller keeps the counters and reads the cache. docs/metrics.md is made of the catalogue.
package metrics
