package progress

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

const (
	// PaceWindow is over which time the steps of replicas are compared.
	PaceWindow = 10 * time.Minute
	// MinRanks is among how many replicas there can be a straggler: of two, neither is the slow one.
	MinRanks = 3
	// minSteps is how many steps the median replica makes in the window at least, else one step more or less decides.
	minSteps = 12
	// maxStragglers is how many stragglers a job shows.
	maxStragglers = 8
)

// Pace compares how many steps the replicas of a job make. Ranks that train in step with each other are equally slow: it shows those that do
// not, such as the workers of parameter servers.
type Pace struct {
	samples map[state.Slot][]sample
	process map[state.Slot]string
}

// sample is the step of a replica at a time.
type sample struct {
	at   time.Time
	step int64
}

// Add records the step that the process of a replica has shown at that time. What another process of the replica has shown does not count.
func (p *Pace) Add(slot state.Slot, process string, step int64, at time.Time) {
	if p.samples == nil {
		p.samples, p.process = map[state.Slot][]sample{}, map[state.Slot]string{}
	}
	list := p.samples[slot]
	if p.process[slot] != process || len(list) > 0 && step < list[len(list)-1].step {
		list = nil
	}
	list = append(list, sample{at, step})
	for len(list) > 2 && at.Sub(list[1].at) >= PaceWindow {
		list = list[1:]
	}
	p.samples[slot], p.process[slot] = list, process
}

// Stragglers returns the replicas that were slower than two thirds of the median in each part of the window that ends now, the slowest first.
// A replica counts if it has shown a step now and before the window.
func (p *Pace) Stragglers(now time.Time) []v1alpha1.Straggler {
	var speeds []float64
	slots := p.complete(now)
	for _, slot := range slots {
		speeds = append(speeds, speed(p.samples[slot][0], last(p.samples[slot])))
	}
	if len(slots) < MinRanks {
		return nil
	}
	median := medianOf(speeds)
	if median*PaceWindow.Seconds() < minSteps {
		return nil
	}
	var list []v1alpha1.Straggler
	for i, slot := range slots {
		if isSlow(p.samples[slot], median) {
			list = append(list, v1alpha1.Straggler{Replica: slot.String(), PercentOfMedian: int32(math.Round(100 * speeds[i] / median))})
		}
	}
	slices.SortFunc(list, func(a, b v1alpha1.Straggler) int {
		return cmp.Or(cmp.Compare(a.PercentOfMedian, b.PercentOfMedian), cmp.Compare(a.Replica, b.Replica))
	})
	return list[:min(len(list), maxStragglers)]
}

// complete returns the replicas with a step now and one from before the window, in order.
func (p *Pace) complete(now time.Time) []state.Slot {
	var slots []state.Slot
	for slot, list := range p.samples {
		if last(list).at.Equal(now) && now.Sub(list[0].at) >= PaceWindow {
			slots = append(slots, slot)
		}
	}
	slices.SortFunc(slots, state.Slot.Compare)
	return slots
}

// isSlow reports whether the replica was slower than two thirds of the median between any two samples in a row.
func isSlow(list []sample, median float64) bool {
	for i := range list[1:] {
		if speed(list[i], list[i+1]) >= median*2/3 {
			return false
		}
	}
	return true
}

func last(list []sample) sample { return list[len(list)-1] }

// speed returns the steps a second from one sample to a later one.
func speed(from, to sample) float64 { return float64(to.step-from.step) / to.at.Sub(from.at).Seconds() }

func medianOf(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
