package state

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Slot is one place in a job.
type Slot struct {
	Role  v1alpha1.Role
	Index int
}

// String returns the slot as people write it: "worker-3".
func (s Slot) String() string { return lower(s.Role) + "-" + strconv.Itoa(s.Index) }

// Compare returns -1, 0 or 1 as the rank of s comes before, is or comes after the rank of t.
func (s Slot) Compare(t Slot) int {
	if s.Role == t.Role {
		return cmp.Compare(s.Index, t.Index)
	}
	return s.Role.Compare(t.Role)
}

// Life names one life of a slot.
type Life struct {
	Attempt     int
	Replacement int
}

// Compare returns -1, 0 or 1 as l is an earlier, the same or a later life than m.
func (l Life) Compare(m Life) int {
	return cmp.Or(cmp.Compare(l.Attempt, m.Attempt), cmp.Compare(l.Replacement, m.Replacement))
}

// Before reports whether l is an earlier life than m.
func (l Life) Before(m Life) bool { return l.Compare(m) < 0 }

// String returns the life as the label shows it: "<attempt>-<replacement>".
func (l Life) String() string { return fmt.Sprintf("%d-%d", l.Attempt, l.Replacement) }

// parseLife is the inverse of Life.String; ok is false for what it does not write.
func parseLife(text string) (l Life, ok bool) {
	attempt, replacement, _ := strings.Cut(text, "-")
	l.Attempt, _ = strconv.Atoi(attempt)
	l.Replacement, _ = strconv.Atoi(replacement)
	return l, l.String() == text && l.Attempt >= 0 && l.Replacement >= 0
}

// HostName returns the host name of every pod of the slot, whatever its life.
func HostName(job string, slot Slot) string { return job + "-" + slot.String() }

// PodName returns the name of the pod of one life of a slot.
func PodName(job string, slot Slot, life Life) string {
	if life == (Life{}) {
		return HostName(job, slot)
	}
	return HostName(job, slot) + "-a" + strconv.Itoa(life.Attempt) + "r" + strconv.Itoa(life.Replacement)
}

// ParsePodName is the inverse of PodName; ok is false for a name that PodName does not make.
func ParsePodName(job, name string) (slot Slot, life Life, ok bool) {
	rest, ok := strings.CutPrefix(name, job+"-")
	if !ok {
		return Slot{}, Life{}, false
	}
	parts := strings.Split(rest, "-")
	if len(parts) < 2 || len(parts) > 3 {
		return Slot{}, Life{}, false
	}
	slot.Role = roleOf(parts[0])
	slot.Index, _ = strconv.Atoi(parts[1])
	if len(parts) == 3 {
		attempt, replacement, _ := strings.Cut(strings.TrimPrefix(parts[2], "a"), "r")
		life.Attempt, _ = strconv.Atoi(attempt)
		life.Replacement, _ = strconv.Atoi(replacement)
	}
	ok = slot.Role != "" && slot.Index < maxIndex && PodName(job, slot, life) == name
	return slot, life, ok
}

// ownRole is what a job may call a role of its own.
var ownRole = regexp.MustCompile(`^[a-z][a-z0-9]{0,14}$`)

// lowerRoles are the names of v1alpha1.Roles in lower case, in their order.
var lowerRoles = func() []string {
	var names []string
	for _, role := range v1alpha1.Roles {
		names = append(names, strings.ToLower(string(role)))
	}
	return names
}()

func lower(role v1alpha1.Role) string {
	if i := slices.Index(v1alpha1.Roles, role); i >= 0 {
		return lowerRoles[i]
	}
	return strings.ToLower(string(role))
}

// roleOf returns the role of that name in lower case; empty if no role can be called that.
func roleOf(name string) v1alpha1.Role {
	if i := slices.Index(lowerRoles, name); i >= 0 {
		return v1alpha1.Roles[i]
	}
	if !ownRole.MatchString(name) {
		return ""
	}
	return v1alpha1.Role(name)
}

// livesPerAttempt is how many numbers of lives an attempt has.
const livesPerAttempt = 1_000_000

// LifeNumber returns the number of the lives that begin with the status: the fencing token of their pods. It grows with every status that
// gives a replica or the job another life.
func LifeNumber(status *v1alpha1.TrainingJobStatus) int64 {
	return int64(status.Attempt)*livesPerAttempt + int64(status.Memory.Lives)
}

// NextLives returns memory.lives of a status that gives replicas their next life, in that attempt. An attempt that has used up its numbers leaves the rest to
// the next one, so that no number comes twice.
func NextLives(was *v1alpha1.TrainingJobStatus, attempt int32) int32 {
	if attempt == was.Attempt {
		return was.Memory.Lives + 1
	}
	return max(0, was.Memory.Lives+1-livesPerAttempt)
}

// LifeOf returns the life of the pod. The job may give a replica the same life before and after a suspension. A pod from before the
// suspension has a life that is before all lives of the job.
func (s *Snapshot) LifeOf(p *Pod) Life {
	if s.IsFromBefore(p) {
		return Life{Attempt: -1}
	}
	return p.Life
}

// IsFromBefore reports whether the pod is from before the job's latest suspension, in which replicas kept their lives.
func (s *Snapshot) IsFromBefore(p *Pod) bool { return p.Number < s.Job.Status.Memory.ResumeNumber }

// numberOf reads the number of a life; 0 for a text that is none.
func numberOf(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}
