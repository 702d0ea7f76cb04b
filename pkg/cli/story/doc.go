// Package story tells people what a TrainingJob's status says: why the job is as it is, how each of its replicas is, and what
// happened since it began. Everything here is a pure function from the job, its pods and its Events to text.
//
// Decisions, newest first:
//   - The condition of a replica is asked of pkg/state, which the operator decides by, and not worked out a second time.
//   - The operator's own sentence comes first wherever there is one. This package adds the facts behind it and what to do.
package story
