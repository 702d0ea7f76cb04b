// Package journal is the history of jobs in the operator's log: the lines and their contents. A status keeps ten incidents and goes
// with its job; the log keeps what its store keeps.
//
// There are four lines, distinguished by their message. Messages and names of fields are as stable as the API: an incident in a line is an
// incident of the status, word for word.
//
//	incident             a restart was decided: exactly one line for each
//	incident explained   the true cause of a restart shows only now: the same number, and the incident as it is known now
//	all replicas run     an attempt has begun to run, and what the restart before it cost
//	job finished         the last status of the job, without what only the operator needs and what earlier lines hold
//
// A line is written after the status that it reports. No line is written twice. A line is missing if the operator dies between the two
// writes, or if the write of the status succeeds without an answer; a reader that has the status fills such gaps from it.
package journal
