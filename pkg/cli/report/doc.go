// Package report tells a job's whole story as data and as one page of HTML, from what the cluster has of the job and what the
// operator's log says of it. It is pure: the same story gives the same page, byte for byte.
//
// Where the story comes from, the surer before the less sure:
//
//	incidents      the status (its last ten), then the log's lines
//	when it ran    the log, then the status, then Events that stand for themselves; else a bar says that it is not known
//	each replica   its pods as far as they are there, the incidents that name it, else its attempt
//
// The page needs no script and nothing from elsewhere. Marks are SVG that stretches with the page, words are HTML that does not.
// Above 40 replicas rows stand for several, and show the least good of them, so that one failed rank of 10,000 is seen.
package report
