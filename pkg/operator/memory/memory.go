// Package memory bounds the memory of a program that caches the objects of a cluster.
package memory

import (
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
)

// share is the part of the container's memory limit up to which the heap may grow before garbage is collected at any price. The rest is for
// stacks and buffers.
const share = 0.9

// Bound sets Go's memory limit from the container's limit, unless the variable GOMEMLIMIT is set, and by how many percent the heap grows until
// the next collection, unless GOGC is set. Most of the heap is the cache, and most garbage is what its changes were decoded from, so Go's
// default of 100 would keep as much garbage as cache. Without a container it sets no limit.
func Bound(log logr.Logger, growth int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(growth)
	}
	limit, err := memlimit.SetGoMemLimitWithOpts(memlimit.WithRatio(share), memlimit.WithProvider(memlimit.FromCgroup))
	if err != nil {
		log.V(1).Info("the container has no memory limit", "error", err.Error())
		return
	}
	log.V(1).Info("the heap is limited", "bytes", limit)
}
