// Package trace describes the history of a job as spans of a trace, as values: a span is complete when the status shows its end.
//
//	job                         from its creation to its end
//	├ queued                    waiting in a queue, once for each admission
//	├ scheduling, starting      of the attempt that the job began with: until all pods have nodes, until all replicas run
//	├ running                   all replicas run, once for each attempt
//	└ recovering                from a failure until what it restarted runs again; of the whole job with
//	  └ detecting, scheduling, starting
//
// No state is kept for them. The trace's id is the job's UID. A span's id is a hash of the UID, the attempt, the slot, the phase and its
// times, all of them from the status. So a span that is sent twice is the same span, and an operator that starts in the middle of a
// restart sends the whole span at its end. If the operator dies between the write of a status and the sending, the span is missing.
package trace
