// Package report returns a job's history as data and as one page of HTML: of a job of the cluster, or of a local run with the lines of its
// operator's log. It is pure: the same input gives the same page, byte for byte.
//
// The sources, in the order of their reliability:
//
//	incidents      the status (its last ten), then the lines
//	when it ran    the lines, then the status, then Events that stand for themselves; else a bar shows that it is unknown
//	each replica   its existing pods, the incidents that name it, else its attempt
//
// The page needs no script and no other file. Marks are SVG that stretches with the page, words are HTML that does not.
// Above 40 replicas rows stand for several replicas, and show the worst of them, so that one failed rank of 10,000 is seen.
package report
