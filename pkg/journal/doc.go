// Package journal is the story of jobs as the operator's log tells it: which lines there are, what is in them, and how to read them.
// A status keeps ten incidents and goes with its job; the log keeps what its store keeps.
//
// There are four lines, told apart by their message. Messages and names of fields are as stable as the API: an incident in a line is
// an incident of the status, word for word.
//
//	incident             a restart was decided: exactly one line for each
//	incident explained   its true cause showed only afterwards: the same number, and the incident as it is known now
//	all replicas run     an attempt has begun to run, and what the restart before it cost
//	job finished         the job's last status, without what only the operator needs and what earlier lines hold
//
// A line is written once the status that it speaks of is. An operator that dies between the two leaves the line out, and one whose
// write succeeded without an answer does, too: no line is ever written twice. A reader that has the status fills such gaps from it.
//
// Decisions, newest first:
//   - The operator keeps no record in the cluster after a job is gone: that would take the right to write ConfigMaps in all namespaces.
package journal
