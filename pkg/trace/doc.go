// Package trace tells the story of a job as spans of a trace, as values: a span is cut when the status says that its time is over.
//
//	job                         from its creation to its end
//	├ queued                    waiting in a queue, once for each admission
//	├ scheduling, starting      of the attempt that the job began with: until all pods have nodes, until all replicas run
//	├ running                   all replicas run, once for each attempt
//	└ recovering                from a failure until what it restarted runs again; of the whole job with
//	  └ detecting, scheduling, starting
//
// No state is kept for them. The trace's id is the job's UID, a span's is a hash of what it is of: the UID, the attempt, the slot, the
// phase and its times, all of them from the status. So a span that is sent twice is the same span, and an operator that starts in the
// middle of a restart tells the whole of it when it is over. One that dies between the write of a status and the sending leaves the
// span out.
package trace
