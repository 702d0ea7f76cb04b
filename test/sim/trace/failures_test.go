package trace_test

import (
	"math/rand/v2"
	"time"
)

// kind is how a failure shows.
type kind int

const (
	// exits: a rank ends by its own fault.
	exits kind = iota
	// device: a rank ends, and its node says soon after that a device is broken.
	device
	// nodeDies: a node is silent.
	nodeDies
	// hangs: no rank goes on, and none ends before the collective gives up.
	hangs
)

// interruption is one failure that stops the training.
type interruption struct {
	at   time.Duration
	kind kind
	// peersCrash is whether the other ranks end within seconds, or hang.
	peersCrash bool
	// rank is which of the ranks it hits, as a part of all.
	rank float64
}

// llama3 is table 5 of "The Llama 3 Herd of Models" (Meta, 2024, arXiv:2407.21783): the 419 unexpected interruptions of 54 days of
// pre-training on 16,384 H100, eight in each of 2,048 nodes.
var llama3 = []struct {
	component string
	count     int
	kind      kind
}{
	{"Faulty GPU", 148, device},
	{"GPU HBM3 Memory", 72, device},
	{"Software Bug", 54, exits},
	{"Network Switch/Cable", 35, nodeDies},
	{"Host Maintenance", 32, nodeDies},
	{"GPU SRAM Memory", 19, device},
	{"GPU System Processor", 17, device},
	{"NIC", 7, nodeDies},
	{"NCCL Watchdog Timeouts", 7, hangs},
	{"Silent Data Corruption", 6, exits},
	{"GPU Thermal Interface + Sensor", 6, device},
	{"SSD", 3, nodeDies},
	{"Power Supply", 3, nodeDies},
	{"Server Chassis", 2, nodeDies},
	{"IO Expansion Board", 2, nodeDies},
	{"Dependency", 2, exits},
	{"CPU", 2, nodeDies},
	{"System Memory", 2, nodeDies},
}

// The failures per 1,000 node-days of the two clusters of "Revisiting Reliability in Large-Scale Machine Learning Research Clusters" (Meta,
// HPCA 2025, arXiv:2410.21680).
const rsc1, rsc2 = 6.5, 2.34

// ownFault is the part of those failures that is taken for the program's own; of the others the node dies.
const ownFault = 0.2

// ofLlama3 returns the first days of the published interruptions, spread over 54 days by chance.
func ofLlama3(chance *rand.Rand, days int) []interruption {
	const published = 54 * 24 * time.Hour
	var all []interruption
	for _, row := range llama3 {
		for range row.count {
			at := time.Duration(chance.Float64() * float64(published))
			if i := drawn(chance, at, row.kind); at < time.Duration(days)*24*time.Hour {
				all = append(all, i)
			}
		}
	}
	return inOrder(all)
}

// ofRate returns the interruptions of so many days by a Poisson process.
func ofRate(chance *rand.Rand, rate float64, nodes, days int) []interruption {
	var all []interruption
	for at := time.Duration(0); ; {
		at += time.Duration(chance.ExpFloat64() / (rate * float64(nodes) / 1000) * float64(24*time.Hour))
		if at >= time.Duration(days)*24*time.Hour {
			return all
		}
		what := nodeDies
		if chance.Float64() < ownFault {
			what = exits
		}
		all = append(all, drawn(chance, at, what))
	}
}

func drawn(chance *rand.Rand, at time.Duration, what kind) interruption {
	return interruption{at: at, kind: what, peersCrash: chance.IntN(2) == 0, rank: chance.Float64()}
}
