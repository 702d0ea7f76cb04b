package trace_test

import "time"

// What stock controllers do, and the times that Kubernetes has by default: a pod on a node that is not ready is evicted after 300 s, and a
// container that has ended is started again in its pod after 10 s.
const (
	toleration   = 300 * time.Second
	restartsPod  = 10 * time.Second
	patient      = 30 * time.Minute // a time-out of the collective as it used to be
	evictedAfter = notice + toleration
)

// stock plays the interruptions by rules, with a collective that gives up after the time-out. It takes everything else for the best: the
// node of an evicted pod is taken out of the cluster at once, as else the pod would never be gone; a broken device works again when its
// rank is started again; and pods find nodes, and their programs start, as quickly as with us.
func stock(interruptions []interruption, whole, timeout time.Duration) spent {
	s := spent{whole: whole, restarting: podStarts, starting: programStarts}
	trains := podStarts + programStarts // since then
	for n := range interruptions {
		i := &interruptions[n]
		at := max(i.at, trains+retryAfter)
		if at >= whole {
			break
		}
		s.interruptions++
		s.redone += (at - trains) % checkpointEvery
		noticing, restarting := stockLoses(i, timeout)
		noticing = min(noticing, whole-at)
		restarting = min(restarting, whole-at-noticing)
		starting := min(programStarts, whole-at-noticing-restarting)
		s.noticing, s.restarting, s.starting = s.noticing+noticing, s.restarting+restarting, s.starting+starting
		trains = at + noticing + restarting + starting
	}
	s.trained = whole - s.noticing - s.restarting - s.starting - s.redone
	return s
}

// stockLoses returns for how long nobody does anything about the interruption, and how long it takes then until all ranks run.
func stockLoses(i *interruption, timeout time.Duration) (noticing, restarting time.Duration) {
	if i.kind == hangs || !i.peersCrash { // the peers of a rank that is gone wait for it
		noticing = timeout
	}
	if i.kind == nodeDies && evictedAfter > noticing {
		return evictedAfter, podStarts
	}
	return noticing, restartsPod
}
