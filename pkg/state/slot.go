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

// Compare returns -1, 0 or 1 as the rank of s comes before, is or comes after that of t.
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
func HostName(job string, slot Slot) string {
	return job + "-" + lower(slot.Role) + "-" + strconv.Itoa(slot.Index)
}

// PodName returns the name of the pod of one life of a slot.
func PodName(job string, slot Slot, life Life) string {
	if life == (Life{}) {
		return HostName(job, slot)
	}
	return job + "-" + lower(slot.Role) + "-" + strconv.Itoa(slot.Index) + "-a" + strconv.Itoa(life.Attempt) + "r" + strconv.Itoa(life.Replacement)
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

// SpareName returns the name of a role's i-th spare, made after n warm ones of the role have become replicas, which keep their names:
// "<job>-<role>-spare-<i>" or "<job>-<role>-spare-<i>-p<n>".
func SpareName(job string, spare Slot, n int) string {
	name := job + "-" + lower(spare.Role) + "-spare-" + strconv.Itoa(spare.Index)
	if n == 0 {
		return name
	}
	return name + "-p" + strconv.Itoa(n)
}

// ParseSpareName is the inverse of SpareName; ok is false for a name that SpareName does not make.
func ParseSpareName(job, name string) (spare Slot, n int, ok bool) {
	rest, isOfJob := strings.CutPrefix(name, job+"-")
	role, number, isSpare := strings.Cut(rest, "-spare-")
	index, promotions, _ := strings.Cut(number, "-p")
	spare.Role = roleOf(role)
	spare.Index, _ = strconv.Atoi(index)
	n, _ = strconv.Atoi(promotions)
	if !isOfJob || !isSpare || spare.Role == "" || spare.Index < 0 || n < 0 || SpareName(job, spare, n) != name {
		return Slot{}, 0, false
	}
	return spare, n, true
}

// parseSlot is the inverse of Slot.String; ok is false for what it does not write.
func parseSlot(text string) (slot Slot, ok bool) {
	role, index, _ := strings.Cut(text, "-")
	slot.Role = roleOf(role)
	slot.Index, _ = strconv.Atoi(index)
	return slot, slot.Role != "" && slot.Index >= 0 && slot.Index < maxIndex && slot.String() == text
}

// ownRole is what a job may call a role of its own, spare aside: that would give pods the names of another job's placeholders.
var ownRole = regexp.MustCompile(`^[a-z][a-z0-9]{0,14}$`)

// lowerRoles are the names of v1alpha1.Roles in lower case, in their order.
var lowerRoles = func() []string {
	var names []string
	for _, role := range v1alpha1.Roles {
		names = append(names, strings.ToLower(string(role)))
	}
	return names
}()

// lower returns the role's name in lower case.
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
	if name == "spare" || !ownRole.MatchString(name) {
		return ""
	}
	return v1alpha1.Role(name)
}
