package invariant

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// calm is the time after which a row of restarts begins anew, as docs/recovery.md promises it.
const calm = 10 * time.Minute

// row is what restarts leave behind: how many came in a row, and the time before which the next life may not begin.
type row struct {
	restarts int
	until    time.Time
}

// backOffs are the rows of one job: that of the whole job, and those of the replicas that are restarted alone or with their role.
type backOffs struct {
	whole row
	own   map[state.Slot]row
}

// checkBackOff checks invariant 14: each restart waits as long as its own row has it, and holds back nobody but whom it restarts.
func (c *Checker) checkBackOff(h *history, before, after *v1alpha1.TrainingJob) {
	was, now := &before.Status, &after.Status
	anew := now.Incidents[:min(max(int(now.Restarts-was.Restarts), 0), len(now.Incidents))]
	if is(before, v1alpha1.ConditionSuspended) && !is(after, v1alpha1.ConditionSuspended) {
		h.backOffs = backOffs{own: map[state.Slot]row{}}
		if was.Attempt == now.Attempt {
			if now.NextStartTime != nil && !is(after, v1alpha1.ConditionFinished) {
				c.violate("14 back-off: the job is resumed, and waits until %v all the same", now.NextStartTime)
			}
			return
		}
	}
	if was.Attempt != now.Attempt {
		if len(anew) == 1 {
			c.checkWholeBackOff(h, before, after, &anew[0])
		}
		return
	}
	answers := was.Memory.RestartRequest != now.Memory.RestartRequest // a request ends the back-off of what it names
	if answers && now.NextStartTime.Before(was.NextStartTime) {
		h.backOffs.whole.until = now.NextStartTime.Time
	} else if !was.NextStartTime.Equal(now.NextStartTime) || was.Memory.RestartsInRow != now.Memory.RestartsInRow {
		c.violate("14 back-off: nextStartTime %v becomes %v, and the job has not restarted as a whole", was.NextStartTime, now.NextStartTime)
	}
	rows := map[state.Slot]row{}
	for i := range anew {
		h.backOffs.promise(after, &anew[i], rows)
	}
	joiners := c.joiners(h, before, after, anew)
	for _, slot := range joiners {
		now := metav1.NewTime(c.writer.At.Truncate(time.Second)) // not that of the write, which can be slow
		ended := v1alpha1.Incident{Failure: v1alpha1.Failure{Role: slot.Role, Index: int32(slot.Index)}, Scope: joinedScope(after, slot, joiners), RestartTime: now}
		h.backOffs.promise(after, &ended, rows)
	}
	c.checkOwnBackOffs(h, before, after, rows)
}

// promise notes the rows of the slots that the incident restarts.
func (b *backOffs) promise(job *v1alpha1.TrainingJob, i *v1alpha1.Incident, rows map[state.Slot]row) {
	slots := []state.Slot{{Role: i.Role, Index: int(i.Index)}}
	if i.Scope == v1alpha1.ScopeRole {
		slots = nil
		for index := range int(job.Spec.Replicas(i.Role)) {
			slots = append(slots, state.Slot{Role: i.Role, Index: index})
		}
	}
	most := 0
	for _, slot := range slots {
		if former := b.own[slot]; i.RestartTime.Sub(former.until) < calm {
			most = max(most, former.restarts)
		}
	}
	first := *job.Spec.Recovery.BackoffSeconds
	if i.Cause == v1alpha1.CauseCompleted || i.Cause == v1alpha1.CauseRequested { // nothing was harmed: it doubles from a second on
		first = 1
	}
	for _, slot := range slots {
		rows[slot] = row{most + 1, i.RestartTime.Add(promisedWait(first, *job.Spec.Recovery.MaxBackoffSeconds, most+1))}
	}
}

// promisedWait is the wait before the n-th restart in a row, as docs/recovery.md promises it, from the first to the most.
func promisedWait(first, most int32, n int) time.Duration {
	if n == 1 {
		return 0
	}
	wait := float64(max(first, 1)) * float64(uint64(1)<<min(n-2, 40))
	return time.Duration(min(wait, float64(max(most, 1)))) * time.Second
}

// checkOwnBackOffs compares what the status says of the slots' own back-off with the rows of those that were restarted now; of
// the others nothing changes, but that what is past is forgotten.
func (c *Checker) checkOwnBackOffs(h *history, before, after *v1alpha1.TrainingJob, rows map[state.Slot]row) {
	old, memory := memoryOf(before), memoryOf(after)
	answers := before.Status.Memory.RestartRequest != after.Status.Memory.RestartRequest
	for role, m := range memory {
		for index := range h.widest {
			slot := state.Slot{Role: role, Index: index}
			said := row{m.RestartsInRow[index], time.Unix(int64(m.NextStarts[index]), 0)}
			promised, restarted := rows[slot]
			restarted = restarted && lifeIn(before, old, slot) != lifeIn(after, memory, slot) // with its role, if it has not succeeded
			switch {
			case restarted && !said.keeps(promised):
				c.violate("14 back-off: %s is restarted for the %dth time in a row and may begin at %v, promised is the %dth at %v",
					slot, said.restarts, said.until.UTC(), promised.restarts, promised.until.UTC())
			case restarted:
				h.backOffs.own[slot] = said
			case answers && old[role] != nil && m.NextStarts[index] > 0 && m.NextStarts[index] < old[role].NextStarts[index]:
				h.backOffs.own[slot] = said
			case old[role] != nil && m.NextStarts[index] != old[role].NextStarts[index] &&
				(m.NextStarts[index] != 0 || c.world.Clock.Since(time.Unix(int64(old[role].NextStarts[index]), 0)) < calm):
				c.violate("14 back-off: the next start of %s moves from %d to %d, and it is not restarted", slot, old[role].NextStarts[index], m.NextStarts[index])
			}
		}
	}
}

// keeps reports whether what is said is what was promised, to the second: times of the status have no parts of seconds.
func (said row) keeps(promised row) bool {
	late := said.until.Sub(promised.until)
	return said.restarts == promised.restarts && late >= 0 && late <= time.Second && (promised.restarts > 1 || late == 0)
}

// checkWholeBackOff does the same for a restart of the whole job, which forgets the replicas' own.
func (c *Checker) checkWholeBackOff(h *history, before, after *v1alpha1.TrainingJob, i *v1alpha1.Incident) {
	b := &h.backOffs
	n := b.whole.restarts + 1
	running := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionRunning)
	if running != nil && running.Status == "True" && i.RestartTime.Sub(running.LastTransitionTime.Time) >= calm && i.RestartTime.Sub(b.whole.until) >= calm {
		n = 1
	}
	recovery := &after.Spec.Recovery
	first := *recovery.BackoffSeconds
	if i.Cause == v1alpha1.CauseRequested { // the user waits for it: it doubles from a second on
		first = 1
	}
	promised := row{n, i.RestartTime.Add(promisedWait(first, *recovery.MaxBackoffSeconds, n))}
	said := row{restarts: int(after.Status.Memory.RestartsInRow)}
	if next := after.Status.NextStartTime; next != nil {
		said.until = next.Time
	}
	if !said.keeps(promised) {
		c.violate("14 back-off: the job restarts for the %dth time in a row and may begin at %v, promised is the %dth at %v",
			said.restarts, said.until.UTC(), promised.restarts, promised.until.UTC())
	}
	for role, status := range after.Status.Memory.Roles {
		if status.RestartsInRow+status.NextStarts != "" {
			c.violate("14 back-off: the whole job restarts, and of %s restarts in a row %q, next starts %q are kept", role, status.RestartsInRow, status.NextStarts)
		}
	}
	h.backOffs = backOffs{whole: said, own: map[state.Slot]row{}}
}
