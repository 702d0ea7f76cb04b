// Package budget counts restarts: how many incidents of a kind a job may have within recovery.windowSeconds, and how long each waits. It
// sees incidents, never pods.
//
//	Of         the budget that an incident counts against; none for a loss
//	Used       the charges of a budget within the window
//	Limit      how many it allows
//	Charge     the charges after new incidents, and after refunds for incidents whose true cause shows now
//	Backoff    when the restart may begin: the wait doubles with each restart in a row
//	CalmSlots  the replicas that ran long enough for the next restart to be the first in a row
package budget
