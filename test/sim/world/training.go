package world

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// training is what the job's program has done so far, if the ranks train by themselves.
type training struct {
	// attempt is that of the ranks that train, step the last one that they have made, and saved that of the last checkpoint.
	attempt     string
	step, saved int64
	// hung is the process for which all ranks wait; nil for none.
	hung *process
	// began is when each process that serves a page first made a step, by the world's own clock.
	began map[string]time.Time
	// shown is the highest step that a read of a page has shown since the job was last resumed.
	shown int64
}

// savesEvery is how many steps lie between two checkpoints.
const savesEvery = 8

// train lets the ranks make a step, if they can, and show it on their pages. It saves a checkpoint now and then, and when the ranks are asked
// for one. A later attempt goes on from the last one.
func (w *World) train() {
	if !w.Habits.Training || w.Job() == nil {
		return
	}
	t := &w.training
	ranks := slices.DeleteFunc(w.Pods(), func(pod *corev1.Pod) bool { return !w.runs(pod) || roleOf(pod) == "ps" || roleOf(pod) == "evaluator" })
	for _, pod := range ranks {
		if newest := pod.Labels[v1alpha1.LabelAttempt]; cmp.Or(cmp.Compare(len(newest), len(t.attempt)), cmp.Compare(newest, t.attempt)) > 0 {
			t.attempt, t.step = newest, t.saved
		}
	}
	if t.hung != nil && !slices.ContainsFunc(ranks, func(pod *corev1.Pod) bool { return processOf(pod) == *t.hung }) {
		t.hung = nil
	}
	if t.hung != nil || !w.meet(ranks) {
		return
	}
	if t.step++; t.step%savesEvery == 0 {
		t.saved = t.step
	}
	for _, pod := range ranks {
		w.showStep(pod, t.step)
	}
}

// meet reports whether the ranks can make a step: each one runs that the others need.
func (w *World) meet(ranks []*corev1.Pod) bool {
	return len(ranks) > 0 && !slices.ContainsFunc(w.Pods(), func(pod *corev1.Pod) bool {
		isKept := slices.ContainsFunc(ranks, func(rank *corev1.Pod) bool { return rank.Spec.Hostname == pod.Spec.Hostname }) // for its log
		return !w.runs(pod) && !isKept && slices.ContainsFunc(ranks, func(rank *corev1.Pod) bool { return w.needs(rank, pod) })
	})
}

// showStep has the page of a rank show the step, by the clock of its node, once its process is warm. That takes true time.
func (w *World) showStep(pod *corev1.Pod, step int64) {
	id, serves := serving(pod)
	if w.training.began == nil {
		w.training.began = map[string]time.Time{}
	}
	if _, isKnown := w.training.began[id]; serves && !isKnown {
		w.training.began[id] = w.Clock.Now()
	}
	if !serves || w.Clock.Since(w.training.began[id]) < w.Habits.WarmUp {
		return
	}
	w.show(pod, id, step, true)
}

// Hang has all ranks wait for the pod's process, for good. It is the only one that does not wait in a collective, if the stacks tell.
func (w *World) Hang(pod *corev1.Pod, stacksTell bool) {
	w.say("training: %s hangs, and all ranks with it", pod.Name)
	p := processOf(pod)
	w.training.hung = &p
	w.faults[p] = &Fault{What: pod.Name + " hangs", Pods: []string{pod.Name}}
	w.Reading = Reading{After: time.Second}
	if stacksTell {
		w.Reading.Pages = map[string]string{roleOf(pod) + "-" + pod.Labels[v1alpha1.LabelIndex]: Reads}
	}
}

// StartOver has the training begin anew, with step 1, when its ranks start again: its checkpoints are gone.
func (w *World) StartOver() { w.training.step, w.training.saved = 0, 0 }

// ShownStep returns the highest step that the operator has read.
func (w *World) ShownStep() int64 { return w.training.shown }
