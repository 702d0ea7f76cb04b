package ledger

import (
	"cmp"
	"regexp"
	"sync"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/docs"
)

// Start is what the document calls the phase of a job that has none yet.
const Start v1alpha1.Phase = "[*]"

// Edge is a step from phase to phase.
type Edge struct{ From, To v1alpha1.Phase }

// Step returns the step between the phases of two versions of a status.
func Step(was, is v1alpha1.Phase) Edge {
	return Edge{cmp.Or(was, Start), cmp.Or(is, Start)}
}

// Published reports whether the document draws the edge, or the job stays where it is.
func (e Edge) Published() bool { return e.From == e.To || graph()[e] }

var graph = sync.OnceValue(func() map[Edge]bool { return read(docs.States) })

var arrow = regexp.MustCompile(`(?m)^ *([A-Z]\w+|\[\*\]) --> ([A-Z]\w+)`)

// read returns the arrows of the document's diagram, without those that lead to no phase.
func read(document string) map[Edge]bool {
	edges := map[Edge]bool{}
	for _, found := range arrow.FindAllStringSubmatch(document, -1) {
		edges[Edge{v1alpha1.Phase(found[1]), v1alpha1.Phase(found[2])}] = true
	}
	return edges
}
