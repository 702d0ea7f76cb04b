package logs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Choice selects the pods of a job to read.
type Choice struct {
	// Ranks are those that are read: "0,3-7,last"; empty for all.
	Ranks string
	// Roles are those that are read, in any case; none for all.
	Roles []string
	// Attempt is the number of the attempt that is read, or "all"; empty for the present lives, and with Follow those to come.
	Attempt string
	// Previous reads the lives before the present ones.
	Previous bool
}

// Source is one pod whose log is read.
type Source struct {
	Pod  *corev1.Pod
	Slot state.Slot
	// Life is the life that the pod has, or should begin.
	Life state.Life
	Rank int
	// Before is whether the container before the present one of the pod is meant.
	Before bool
	// Wants reports whether lines of a life are wanted: a pod that is restarted in place has several.
	Wants func(state.Life) bool
}

// chooser is a Choice that was checked against a job.
type chooser struct {
	ranks    map[int]bool
	roles    map[v1alpha1.Role]bool
	attempt  int
	all      bool
	previous bool
}

// check returns the chooser for the job, or an error with a correction.
func (c *Choice) check(job *v1alpha1.TrainingJob) (*chooser, error) {
	ranks, err := parseRanks(c.Ranks, job)
	if err != nil {
		return nil, err
	}
	roles, err := parseRoles(c.Roles, job)
	if err != nil {
		return nil, err
	}
	made := &chooser{ranks: ranks, roles: roles, attempt: -1, all: c.Attempt == "all", previous: c.Previous}
	if c.Attempt == "" || made.all {
		return made, nil
	}
	made.attempt, err = strconv.Atoi(c.Attempt)
	if err != nil || made.attempt < 0 {
		return nil, fmt.Errorf("--attempt %q: write a number from 0 on, or all", c.Attempt)
	}
	if made.attempt > int(job.Status.Attempt) {
		return nil, fmt.Errorf("--attempt %d: %s is in attempt %d", made.attempt, job.Name, job.Status.Attempt)
	}
	return made, nil
}

// parseRanks returns the ranks that a text such as "0,3-7,last" names; nil for all.
func parseRanks(text string, job *v1alpha1.TrainingJob) (map[int]bool, error) {
	if text == "" {
		return nil, nil
	}
	last := lastRank(&job.Spec)
	number := func(word string) (int, error) {
		if word == "last" {
			return last, nil
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("--rank %q: write ranks and ranges of them, such as 0,3-7,last", text)
		}
		if n > last {
			return 0, fmt.Errorf("--rank %q: %s has the ranks 0 to %d", text, job.Name, last)
		}
		return n, nil
	}
	ranks := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := number(from)
		if err != nil {
			return nil, err
		}
		end, err := number(to)
		if err != nil {
			return nil, err
		}
		if end < first {
			return nil, fmt.Errorf("--rank %q: write the smaller rank of %s first", text, part)
		}
		for n := first; n <= end; n++ {
			ranks[n] = true
		}
	}
	return ranks, nil
}

// lastRank returns the highest rank that the job has.
func lastRank(spec *v1alpha1.TrainingJobSpec) int {
	last := 0
	for _, role := range spec.Roles() {
		if n := int(spec.Replicas(role)); n > 0 {
			last = max(last, state.Rank(spec, state.Slot{Role: role, Index: n - 1}))
		}
	}
	return last
}

func parseRoles(names []string, job *v1alpha1.TrainingJob) (map[v1alpha1.Role]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	roles := map[v1alpha1.Role]bool{}
	for _, name := range names {
		has := job.Spec.Roles()
		at := slices.IndexFunc(has, func(r v1alpha1.Role) bool { return strings.EqualFold(string(r), name) })
		if at < 0 {
			return nil, fmt.Errorf("--role %s: %s has the roles %v", name, job.Name, has)
		}
		roles[has[at]] = true
	}
	return roles, nil
}

// sources returns the chosen pods among the existing ones, by rank and life. The present lives come from the job; with follow, later
// lives count too.
func (c *chooser) sources(job *v1alpha1.TrainingJob, pods []corev1.Pod, follow bool) ([]Source, error) {
	memory, err := state.ReadMemory(job)
	if err != nil {
		return nil, fmt.Errorf("the status of %s was written by an operator of another version than this program: %w", job.Name, err)
	}
	var found []Source
	for i := range pods {
		slot, lives, isReplica := state.LivesOf(job.Name, &pods[i])
		if !isReplica || !state.IsOwnedBy(&pods[i], job) {
			continue
		}
		present := state.Life{Attempt: int(job.Status.Attempt)}
		if m := memory[slot.Role]; m != nil {
			present.Replacement = m.Replacements[slot.Index]
		}
		s := Source{Pod: &pods[i], Slot: slot, Life: lives.Next, Rank: state.Rank(&job.Spec, slot)}
		if c.wantsReplica(&s) && c.chooseLives(&s, lives, present, follow) {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b Source) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), a.Life.Compare(b.Life)) })
	return found, nil
}

func (c *chooser) wantsReplica(s *Source) bool {
	return (c.ranks == nil || c.ranks[s.Rank]) && (c.roles == nil || c.roles[s.Slot.Role])
}

// chooseLives selects the lives of a source to read, for a slot with the given present life; it returns false for none.
func (c *chooser) chooseLives(s *Source, lives state.Lives, present state.Life, follow bool) bool {
	s.Wants = func(life state.Life) bool { return c.wants(life, present, follow) }
	if s.Wants(lives.Runs) || follow && s.Wants(lives.Next) {
		return true
	}
	s.Before = hasRestarted(s.Pod) && (s.Wants(lives.Before) || c.previous && lives.Before == present)
	s.Wants = func(life state.Life) bool { return life == lives.Before }
	return s.Before
}

// wants reports whether a life is chosen, of a slot whose present life is given.
func (c *chooser) wants(life, present state.Life, follow bool) bool {
	switch {
	case c.previous:
		return life.Before(present)
	case c.all:
		return true
	case c.attempt >= 0:
		return life.Attempt == c.attempt
	default:
		return life == present || follow && present.Before(life)
	}
}

// hasRestarted reports whether a container of the pod was started again in it.
func hasRestarted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.RestartCount > 0 })
}
