// Package story explains a TrainingJob to people: why the job is as it is, how each of its replicas is, and what happened since it began.
// Where the status has a sentence of the operator, that comes first; the package adds the facts behind it and what to do. The state of a
// replica comes from pkg/job/state, as in the operator. Everything is a pure function from the job, its pods and its Events to text.
package story
