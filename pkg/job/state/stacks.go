package state

import "time"

// StacksWithin is how long the reads of the stacks of a job take in all. The restart of the job waits for them.
const StacksWithin = 2 * time.Second

// Stacks are where the ranks of a hanging job are.
type Stacks struct {
	// Until is when the operator no longer waits for the ranks that have not answered yet; zero if none were read.
	Until time.Time
	// List has the processes in the order of the ranks. Before Until a silent process may yet answer.
	List []Stack
	// Unasked is how many ranks the operator has not asked, because the job has too many.
	Unasked int
}

// Stack is where one process of a replica is.
type Stack struct {
	Slot Slot
	// Process names the process if its pod has several: "rank 9".
	Process string
	// Where is the innermost function, and the innermost line of the user's code: "all_reduce (train.py:41)". It is empty if the process
	// shows no stack.
	Where string
	// Waits is whether the function belongs to a library through which ranks wait for each other.
	Waits bool
	// IsSilent is whether the process accepts no connection, or accepts it and does not answer.
	IsSilent bool
}

// Name names the process: "worker-2", or "worker-2 rank 9".
func (s *Stack) Name() string {
	if s.Process == "" {
		return s.Slot.String()
	}
	return s.Slot.String() + " " + s.Process
}
