//go:build kubeflow

package moving

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// day is a moving day: jobs of each phase, and the pods that they had under Kubeflow's operator.
type day struct {
	movers
	unschedulable, running, breaks, dies, suspended, held, expires, succeeded, failed job

	before, broken, dying map[string]corev1.Pod
	finished              map[string][]types.UID
}

// A moving day: jobs of each phase under Kubeflow's operator, its removal, this operator, and the way back.
func TestMovingDay(t *testing.T) {
	endFormer := startFormer(t)
	d := &day{movers: movers{t, namespace(t, "moving")}}
	d.watchDoubles()
	d.submit()
	d.runAndRest()
	d.end()

	d.leave(endFormer)
	exit(t, "137", d.broken["breaks-worker-1"]) // no operator sees it now
	ours := startOurs(t)
	d.endAsTheyBegan()
	d.resume()
	d.stayFinished()

	d.goBack(ours.Kill)
}

func (d *day) submit() {
	d.unschedulable = d.create("unschedulable", "NODES", "nodeSelector: {moving: "+d.namespace+"},")
	d.running = d.create("running")
	d.breaks = d.create("breaks", "POLICY", "ExitCode")
	d.dies = d.create("dies", "POLICY", "Never")
	d.suspended = d.create("suspended", "RUN", "runPolicy: {suspend: true},")
	d.held = d.create("held")
	d.expires = d.create("expires", "RUN", "runPolicy: {ttlSecondsAfterFinished: 60},")
	d.succeeded = d.create("succeeded")
	d.failed = d.create("failed", "POLICY", "Never")
}

// runAndRest waits until the jobs wait, run, rest, and have been restarted.
func (d *day) runAndRest() {
	d.t.Helper()
	d.hasPods(d.unschedulable, corev1.PodPending)
	d.before = d.hasPods(d.running, corev1.PodRunning)
	d.dying = d.hasPods(d.dies, corev1.PodRunning)
	d.suspended.until(d.t, "Suspended")
	d.hasPods(d.held, corev1.PodRunning)
	d.held.suspend(d.t, true)
	d.held.until(d.t, "Suspended")
	first := d.hasPods(d.breaks, corev1.PodRunning)["breaks-worker-0"]
	exit(d.t, "137", first)
	until(d.t, "worker 0 is another pod", func() (bool, any) {
		pod := d.breaks.pods(d.t)["breaks-worker-0"]
		return pod.UID != "" && pod.UID != first.UID, pod.UID
	})
	d.broken = d.hasPods(d.breaks, corev1.PodRunning)
}

// end ends three of the jobs.
func (d *day) end() {
	d.t.Helper()
	exit(d.t, "0", d.hasPods(d.succeeded, corev1.PodRunning)["succeeded-master-0"])
	d.succeeded.until(d.t, "Succeeded")
	exit(d.t, "1", d.hasPods(d.failed, corev1.PodRunning)["failed-worker-1"])
	d.failed.until(d.t, "Failed")
	d.finished = map[string][]types.UID{"succeeded": uids(d.succeeded.pods(d.t)), "failed": uids(d.failed.pods(d.t))}
	exit(d.t, "0", d.hasPods(d.expires, corev1.PodRunning)["expires-master-0"])
	d.expires.until(d.t, "Succeeded")
}

// endAsTheyBegan checks the jobs with pods of Kubeflow's operator.
func (d *day) endAsTheyBegan() {
	d.t.Helper()
	kubectl(d.t, "label", "nodes", "--all", "--overwrite", "moving="+d.namespace)
	exit(d.t, "0", d.hasPods(d.unschedulable, corev1.PodRunning)["unschedulable-master-0"])
	d.unschedulable.until(d.t, "Succeeded")
	exit(d.t, "1", d.dying["dies-worker-1"])
	d.dies.until(d.t, "Failed")
	d.breaks.until(d.t, "Restarting")
	d.isNew(d.breaks, d.broken)
	d.breaks.until(d.t, "Running")
	if after := d.running.pods(d.t); !slices.Equal(uids(d.before), uids(after)) {
		d.t.Errorf("running had the pods %v and has %v", uids(d.before), uids(after))
	}
	if d.isServed(d.running) {
		d.t.Error("a TrainingJob serves running, whose pods Kubeflow's operator made")
	}
	exit(d.t, "0", d.running.pods(d.t)["running-master-0"])
	d.running.until(d.t, "Succeeded")
}

// resume resumes the jobs that Kubeflow's operator suspended.
func (d *day) resume() {
	d.t.Helper()
	for _, j := range []job{d.suspended, d.held} {
		if pods := j.pods(d.t); len(pods) > 0 {
			d.t.Errorf("%s is suspended and has pods %v", j.name, slices.Collect(maps.Keys(pods)))
		}
		j.suspend(d.t, false)
		j.until(d.t, "Running")
	}
}

// stayFinished checks the jobs that ended under Kubeflow's operator.
func (d *day) stayFinished() {
	d.t.Helper()
	until(d.t, "the job expires whose time to live began under Kubeflow's operator", func() (bool, any) { return d.expires.read(d.t) == nil, "it is there" })
	for _, j := range []job{d.succeeded, d.failed} {
		if after := uids(j.pods(d.t)); !slices.Equal(after, d.finished[j.name]) || d.isServed(j) {
			d.t.Errorf("%s had ended and had the pods %v; now it has %v", j.name, d.finished[j.name], after)
		}
	}
	d.succeeded.until(d.t, "Succeeded")
	d.failed.until(d.t, "Failed")
}

// goBack ends this operator and starts Kubeflow's, which continues a job that runs and one that rests.
func (d *day) goBack(endOurs func()) {
	d.t.Helper()
	runs, rests := d.suspended, d.held
	before := d.hasPods(runs, corev1.PodRunning)
	rests.suspend(d.t, true)
	rests.until(d.t, "Suspended")
	endOurs()
	d.run("Go back to Kubeflow's operator")
	d.shell("kubectl delete validatingwebhookconfiguration validator.training-operator.kubeflow.org") // the lab has another one, with its server's address
	startFormer(d.t)
	rests.suspend(d.t, false)
	rests.until(d.t, "Running")
	if after := runs.pods(d.t); !slices.Equal(uids(before), uids(after)) {
		d.t.Errorf("the pods were %v and are %v after the way back", uids(before), uids(after))
	}
	exit(d.t, "0", runs.pods(d.t)["suspended-master-0"])
	runs.until(d.t, "Succeeded")
	exit(d.t, "0", rests.pods(d.t)["held-master-0"])
	rests.until(d.t, "Succeeded")
}
