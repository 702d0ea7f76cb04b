package stacks

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/trainingjob/operator/pkg/job/state"
)

const (
	// maxName is how much of the name of a function or file counts, in bytes.
	maxName = 48
	// maxRank is how much of a process's rank counts, in bytes.
	maxRank = 8
	// maxProcesses is how many processes of a pod count.
	maxProcesses = 16
)

// Process is a process of a rank: its rank, and its threads, the main thread first. A silent process has none.
type Process struct {
	Rank    string   `json:"rank"`
	Silent  bool     `json:"silent,omitempty"`
	Threads []Thread `json:"threads,omitempty"`
}

// Thread is the stack of a thread, the innermost frame last.
type Thread struct {
	Name   string  `json:"name"`
	Frames []Frame `json:"frames"`
}

// Frame is a call.
type Frame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
}

// Parse returns the processes on a page of stacks: the process that serves it, and the other ranks of its pod. It returns an error if no
// main thread is shown.
func Parse(body []byte) ([]Process, error) {
	var page struct {
		Process
		Others []Process `json:"others"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, errors.New(`the page is not the JSON object of stacks: serve {"threads": [{"name": "main", "frames": [{"function": "f", "file": "train.py", "line": 1}]}]}`)
	}
	all := append([]Process{page.Process}, page.Others...)
	all = all[:min(len(all), maxProcesses)]
	for i := range all {
		if p := &all[i]; !p.Silent && (len(p.Threads) == 0 || len(p.Threads[0].Frames) == 0) {
			return nil, errors.New("the page shows no stack of a main thread")
		}
	}
	return all, nil
}

// Of returns where the processes of a replica are. Without processes the replica shows no stack.
func Of(slot state.Slot, processes []Process) []state.Stack {
	if len(processes) == 0 {
		return []state.Stack{{Slot: slot}}
	}
	list := make([]state.Stack, 0, len(processes))
	for i := range processes {
		s := state.Stack{Slot: slot, IsSilent: processes[i].Silent}
		if len(processes) > 1 {
			s.Process = "rank " + state.Printable(state.Cut(processes[i].Rank, maxRank))
		}
		if !s.IsSilent {
			s.Where, s.Waits = where(processes[i].Threads[0].Frames)
		}
		list = append(list, s)
	}
	return list
}

// where returns where a stack is: the innermost function outside Python's own library, which only shows how a program waits, and the
// innermost line of the user's own code.
func where(frames []Frame) (text string, waits bool) {
	inner := innermost(frames, func(f *Frame) bool { return !isOfPython(f.File) })
	own := innermost(frames, func(f *Frame) bool { return !isOfPython(f.File) && !isPackage(f.File) })
	waits = slices.ContainsFunc(meeting, func(part string) bool { return strings.Contains(inner.File, part) })
	return fmt.Sprintf("%s (%s:%d)", short(inner.Function), short(path.Base(own.File)), own.Line), waits
}

// innermost returns the innermost frame that is so, else the innermost of all.
func innermost(frames []Frame, is func(*Frame) bool) *Frame {
	for i := range slices.Backward(frames) {
		if is(&frames[i]) {
			return &frames[i]
		}
	}
	return &frames[len(frames)-1]
}

// meeting are parts of the paths of libraries through which ranks wait for each other. DistributedDataParallel waits at the end of the
// backward pass, within autograd.
var meeting = []string{
	"/torch/distributed/", "/torch/nn/parallel/", "/torch/autograd/", "/deepspeed/comm/", "/horovod/", "/mpi4py/", "/jax/experimental/multihost_utils",
	"/tensorflow/python/distribute/", "/paddle/distributed/",
}

func isPackage(file string) bool {
	return strings.Contains(file, "/site-packages/") || strings.Contains(file, "/dist-packages/")
}

// isOfPython reports whether a file belongs to Python's own library.
func isOfPython(file string) bool {
	return !isPackage(file) && (strings.Contains(file, "/lib/python") || strings.HasPrefix(file, "<frozen"))
}

func short(text string) string { return state.Printable(state.Cut(text, maxName)) }
