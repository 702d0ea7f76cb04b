package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/trainingjob/operator/pkg/job/stacks"
	"github.com/trainingjob/operator/pkg/job/state"
)

// stacksOf returns where the processes of the replicas are.
func stacksOf(ranks []asked) *state.Stacks {
	s := &state.Stacks{}
	for i := range ranks {
		if ranks[i].Silent {
			s.List = append(s.List, state.Stack{Slot: ranks[i].slot, IsSilent: true})
			continue
		}
		s.List = append(s.List, stacks.Of(ranks[i].slot, ranks[i].Processes)...)
	}
	return s
}

// printGroups prints the groups, and the frames of the first rank of each.
func (t *tool) printGroups(ranks []asked) {
	s := stacksOf(ranks)
	if suspect := stacks.Suspect(s.List); suspect != nil {
		fmt.Fprintf(t.Out, "At this moment the other ranks wait for %s.\n\n", suspect.Name())
	}
	for _, group := range stacks.Groups(s.List) {
		fmt.Fprintf(t.Out, "%s\n", group.Text(len(s.List)))
		if len(group.Names) > 1 {
			fmt.Fprintf(t.Out, "  %s\n", strings.Join(group.Names, ", "))
		}
		for i := range ranks {
			if ranks[i].slot == group.First.Slot {
				t.printFrames(&ranks[i], group.First)
			}
		}
	}
}

// printFrames prints the main thread of the process that a stack is of, or why it shows none.
func (t *tool) printFrames(rank *asked, of *state.Stack) {
	if rank.Error != "" {
		fmt.Fprintf(t.Out, "    %s\n", state.Printable(rank.Error))
	}
	for i, stack := range stacks.Of(rank.slot, rank.Processes) {
		if stack == *of && len(rank.Processes) > i && len(rank.Processes[i].Threads) > 0 {
			t.printThread(&rank.Processes[i].Threads[0])
		}
	}
}

func (t *tool) printThread(thread *stacks.Thread) {
	for _, frame := range thread.Frames {
		fmt.Fprintf(t.Out, "    %s:%d in %s\n", state.Printable(frame.File), frame.Line, state.Printable(frame.Function))
	}
}

// printThreads prints all threads of a replica.
func (t *tool) printThreads(rank *asked) error {
	switch {
	case rank.Silent:
		return fmt.Errorf("%s does not answer: its process is stopped, a thread holds Python's lock, or its node is dead", rank.Replica)
	case rank.Error != "":
		return fmt.Errorf("%s shows no stacks: %s", rank.Replica, state.Printable(rank.Error))
	}
	list := stacks.Of(rank.slot, rank.Processes)
	for i := range rank.Processes {
		process := &rank.Processes[i]
		for j := range process.Threads {
			fmt.Fprintf(t.Out, "%s, thread %s:\n", list[i].Name(), state.Printable(process.Threads[j].Name))
			t.printThread(&process.Threads[j])
		}
	}
	return nil
}

// stacksOutput is the form of -o json.
type stacksOutput struct {
	Sentence string  `json:"sentence"`
	Suspect  string  `json:"suspect,omitempty"`
	Ranks    []asked `json:"ranks"`
}

func (t *tool) printStacks(ranks []asked) error {
	s := stacksOf(ranks)
	out := stacksOutput{Sentence: stacks.Sentence(s), Ranks: ranks}
	if suspect := stacks.Suspect(s.List); suspect != nil {
		out.Suspect = suspect.Name()
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.Out, "%s\n", text)
	return err
}
