// Trainer stands in for a training program on real nodes, in an image of 2 MB: it finds its peers as frameworks do, does steps that all ranks
// take together, breaks when a peer is gone, and fails on command.
//
// Peers: with TF_CONFIG every task is connected with every other; with MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE rank 0 with each;
// with neither it is alone. It says on standard output when it starts, meets a peer, gets a signal and ends.
//
//	STEPS=0            steps until it exits with 0; 0 goes on for ever
//	STEP_TIME=200ms    how long a step takes
//	TERM_CODE=143      what it exits with on SIGTERM; "ignore" ignores it, as a program without a handler does as process 1
//	TERM_TIME=0s       how long it takes to leave on SIGTERM
//	BROKEN_AFTER=0s    how long at most it takes to end once a peer is gone; each takes a time of its own
//	TRAININGJOB_PROGRESS_PORT  the port of its page /progress, which shows its steps
//	TRAININGJOB_CHECKPOINT_REQUEST_FILE  a file: it says what that says whenever it changes, within 20 ms
//	COMMAND=""         what it does after the first step, as do says
//	DIARY=""           a folder that all nodes share, for a file of each rank: a line for each start, SIGTERM and end, and a lock on it while
//	                   the process lives; a process that finds it locked says "overlaps"
//
// In a pod that runs: kubectl exec POD -- /program do COMMAND, which is one of
//
//	exit CODE [MESSAGE]   end, with a termination message
//	oom                   take memory until the kernel kills it
//	hang                  take no more steps
//	api                   ask the API server something, as the pod's service account
//	fill PATH             write a file of 64 MiB
//	saved ID              answer the request to save of that id, on its page
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	commandFile = "/tmp/command"
	// brokenCode is what frameworks' collectives end with when a peer is gone: an exception that nobody catches.
	brokenCode = 1
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "do" {
		if err := os.WriteFile(commandFile, []byte(strings.Join(os.Args[2:], " ")), 0o644); err != nil {
			end(2, err.Error())
		}
		return
	}
	if bad := os.Getenv("BAD_NODE"); bad != "" {
		check(bad)
	}
	say("starts, as process %d of attempt %s", os.Getpid(), os.Getenv("TRAININGJOB_ATTEMPT"))
	if err := openDiary(); err != nil {
		end(2, err.Error())
	}
	go onTerm()
	go onRequest()
	go serveProgress()
	where, err := readPlace()
	if err != nil {
		end(2, err.Error())
	}
	peers := meet(where)
	train(where, peers)
}

// check ends as a preflight check does, and meets no peer.
func check(bad string) {
	if os.Getenv("NODE") == bad {
		end(1, bad+" fails the check")
	}
	end(0, "")
}

// train takes steps with the peers.
func train(where place, peers []peer) {
	steps, _ := strconv.Atoi(os.Getenv("STEPS"))
	pace, err := time.ParseDuration(env("STEP_TIME", "200ms"))
	if err != nil {
		end(2, "STEP_TIME: "+err.Error())
	}
	lost := make(chan error, len(peers))
	for step := 1; steps == 0 || step <= steps; step++ {
		for _, p := range peers {
			go p.exchange(step, lost)
		}
		for range peers {
			if err := <-lost; err != nil {
				breakDown()
				end(brokenCode, "collective broken: "+err.Error())
			}
		}
		report(step)
		if step == 1 || step%10 == 0 {
			say("rank %d of %d: step %d", where.rank, where.world, step)
		}
		if step == 1 {
			obey(os.Getenv("COMMAND"))
		}
		if command, err := os.ReadFile(commandFile); err == nil {
			_ = os.Remove(commandFile)
			obey(string(command))
		}
		time.Sleep(pace)
	}
	end(0, "")
}

// breakDown takes as long as a program takes to end by an exception: Python may need half a second.
func breakDown() {
	if most, err := time.ParseDuration(env("BROKEN_AFTER", "0s")); err == nil && most > 0 {
		time.Sleep(rand.N(most))
	}
}

// onRequest says what the file of requests to stop says, whenever that changes.
func onRequest() {
	path, last := os.Getenv("TRAININGJOB_CHECKPOINT_REQUEST_FILE"), ""
	for ; path != ""; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(path)
		if err != nil || string(text) == last {
			continue
		}
		last = string(text)
		say("is asked %q", last)
	}
}

// obey does what a command says.
func obey(command string) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(command), " ")
	switch verb {
	case "":
	case "exit":
		digits, message, _ := strings.Cut(rest, " ")
		code, err := strconv.Atoi(digits)
		if err != nil {
			code, message = 2, "exit wants a number: "+command
		}
		end(code, message)
	case "oom":
		takeMemory()
	case "hang":
		say("hangs")
		select {}
	case "api":
		askAPI()
	case "fill":
		fill(rest)
	case "saved":
		savedFor = rest
	default:
		end(2, "unknown command: "+command)
	}
}

func takeMemory() {
	say("takes memory until it is killed")
	for held := [][]byte{}; ; {
		block := make([]byte, 8<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1 // else the page exists only on paper
		}
		held = append(held, block)
	}
}

// fill writes 64 MiB at most: it is to exceed a limit of a volume, not to fill a disk.
func fill(path string) {
	say("fills %s", path)
	if err := os.WriteFile(path, make([]byte, 64<<20), 0o644); err != nil {
		say("cannot fill %s: %v", path, err)
	}
}

// end says why, also where Kubernetes looks for a termination message, and exits.
func end(code int, message string) {
	if message != "" {
		if file, err := os.OpenFile("/dev/termination-log", os.O_WRONLY|os.O_TRUNC, 0); err == nil { // not there outside of a pod
			_, _ = file.WriteString(message)
			_ = file.Close()
		}
	}
	say("ends with %d %s", code, message)
	note(fmt.Sprintf("ends with %d", code))
	os.Exit(code)
}

func say(format string, args ...any) {
	fmt.Printf("%s %s\n", time.Now().UTC().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
