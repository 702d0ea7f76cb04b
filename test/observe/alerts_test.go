//go:build alerts

package observe

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long an alert may take; a lab shares its machine with others.
const patience = 3 * time.Minute

// Every alert fires for the reason that it is there for, as a real Prometheus has it that scrapes a real operator; and none before.
func TestAlerts(t *testing.T) {
	l := start(t)
	l.apply(job("default", "well", "runPolicy: {}", "", ""))
	time.Sleep(10 * time.Second) // longer than any alert waits
	fires := l.firing()
	delete(fires, "TrainingJobOperatorDown") // it fires until the first scrape
	if len(fires) > 0 {
		t.Errorf("it fires though all is well: %v", fires)
	}
	l.awaitSilence()
	t.Run("jobs in trouble", l.jobsInTrouble)
	t.Run("a node breaks", l.nodeBreaks)
	t.Run("jobs restart", l.jobsRestart)
	t.Run("traces", l.traces)
	t.Run("logs", l.logs)
	for _, name := range []string{"trainingjob:running_time:ratio1d", `trainingjob_job_phase{trainingjob="well",namespace="default"}`, "trainingjob_lost_seconds_total"} {
		if got := l.query(name); got == "" {
			t.Errorf("Prometheus has no %s", name)
		} else {
			t.Logf("%s: %s", name, got)
		}
	}
	t.Run("the operator loses a right", l.operatorLosesARight)
	t.Run("the operator hangs", l.operatorHangs)
}

func (l *lab) jobsInTrouble(t *testing.T) {
	l.kubectl("create", "namespace", "full")
	l.apply(`{apiVersion: v1, kind: ResourceQuota, metadata: {namespace: full, name: none}, spec: {hard: {pods: "0"}}}`)
	l.apply(job("full", "refused", "runPolicy: {}", "", "") +
		job("default", "hangs", "progress: {stallAfterSeconds: 10}", "", "") +
		job("default", "large", "runPolicy: {}", "", "nodeSelector: {no: where},"))
	l.awaitAlerts("TrainingJobStalled", "TrainingJobHangs", "TrainingJobWaitsForNodes")
}

// nodeBreaks has a node that two teams use be declared out of service.
func (l *lab) nodeBreaks(t *testing.T) {
	for _, team := range []string{"team-a", "team-b"} {
		l.kubectl("create", "namespace", team)
		l.apply(job(team, "there", "runPolicy: {}", "", "nodeSelector: {kubernetes.io/hostname: gpu-3},"))
		l.kubectl("-n", team, "wait", "--for=condition=Running", "--timeout=120s", "tj/there")
	}
	l.kubectl("taint", "node", "gpu-3", "node.kubernetes.io/out-of-service=broken:NoExecute")
	l.awaitAlerts("TrainingJobNodeBroken")
}

// jobsRestart has jobs crash again and again, until their budget is used up.
func (l *lab) jobsRestart(t *testing.T) {
	var jobs strings.Builder
	for i := range 8 {
		jobs.WriteString(job("default", fmt.Sprintf("crashes-%d", i), "recovery: {maxRestarts: 3, backoffSeconds: 1}", `lab.trainingjob.dev/run-for: 2s, lab.trainingjob.dev/exit-code: "1"`, ""))
	}
	l.apply(jobs.String())
	l.apply(job("default", "twice", "recovery: {maxRestarts: 1}", "", ""))
	l.kubectl("wait", "--for=condition=Running", "--timeout=120s", "tj/twice")
	l.kubectl("annotate", "pod", "-l", "trainingjob.dev/job-name=twice", "lab.trainingjob.dev/exit-code=1")
	l.awaitAlerts("TrainingJobRestartsOften", "TrainingJobBudgetUsedUp", "TrainingJobRecoversSlowly")
}

// operatorLosesARight takes the operator the right to write statuses, and gives it back.
func (l *lab) operatorLosesARight(t *testing.T) {
	role := l.kubectl("get", "clusterrole", "trainingjob-operator", "-o", "json")
	defer func() {
		file := filepath.Join(t.TempDir(), "role.json")
		write(t, file, role)
		l.kubectl("replace", "--force", "-f", file)
	}()
	file := filepath.Join(t.TempDir(), "less.json")
	write(t, file, strings.ReplaceAll(role, `"trainingjobs/status"`, `"trainingjobs/nothing"`))
	l.kubectl("replace", "--force", "-f", file)
	l.apply(job("default", "new-1", "runPolicy: {}", "", "") + job("default", "new-2", "runPolicy: {}", "", ""))
	l.awaitAlerts("TrainingJobReconcileErrors", "TrainingJobNotTakenUp")
}

// operatorHangs stops the operator's process for as long as it takes.
func (l *lab) operatorHangs(t *testing.T) {
	pid, _ := l.operator()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	l.awaitAlerts("TrainingJobOperatorDown")
}
