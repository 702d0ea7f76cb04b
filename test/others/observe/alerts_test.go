//go:build alerts

package observe

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
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
	t.Run("logs", l.logs)
	for _, name := range []string{"trainingjob:running_time:ratio1d", `trainingjob_job_phase{trainingjob="well",namespace="default"}`, "trainingjob_lost_seconds_total"} {
		if got := l.query(name); got == "" {
			t.Errorf("Prometheus has no %s", name)
		} else {
			t.Logf("%s: %s", name, got)
		}
	}
	t.Run("a webhook hangs", l.webhookHangs)
	t.Run("a job cannot be decoded", l.undecodable)
	t.Run("the operator loses a right", l.operatorLosesARight)
	t.Run("the operator goes blind", l.operatorGoesBlind)
	t.Run("the operator crashes", l.operatorCrashes)
	t.Run("the operator hangs", l.operatorHangs)
}

func (l *lab) jobsInTrouble(t *testing.T) {
	l.kubectl("create", "namespace", "full")
	l.apply(`{apiVersion: v1, kind: ResourceQuota, metadata: {namespace: full, name: none}, spec: {hard: {pods: "0"}}}`)
	l.apply(job("full", "refused", "runPolicy: {}", "", "") +
		job("default", "hangs", "progress: {stallAfterSeconds: 10}", "", "") +
		job("default", "large", "runPolicy: {}", "", "nodeSelector: {no: where},") +
		strings.Replace(job("default", "queued", "suspend: true", "", ""), "name: queued", "name: queued, labels: {kueue.x-k8s.io/queue-name: q}", 1))
	l.awaitAlerts("TrainingJobStalled", "TrainingJobHangs", "TrainingJobWaitsForNodes", "TrainingJobKueueAdapterDown")
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

// webhookHangs has the API server wait in vain, a second each, for a webhook that has to admit the pods of one namespace.
func (l *lab) webhookHangs(t *testing.T) {
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // the kernel takes connections on; nothing answers
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	l.kubectl("create", "namespace", "slow")
	l.apply(fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: deaf}
webhooks:
- name: deaf.trainingjob.dev
  clientConfig: {url: "https://%s/"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: slow}}
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 1
`, deaf.Addr()))
	defer l.kubectl("delete", "validatingwebhookconfiguration", "deaf")
	var jobs strings.Builder
	for i := range 4 {
		jobs.WriteString(strings.Replace(job("slow", fmt.Sprintf("waits-%d", i), "runPolicy: {}", "", ""), "replicas: 1", "replicas: 100", 1))
	}
	l.apply(jobs.String())
	defer l.kubectl("-n", "slow", "delete", "tj", "--all", "--wait=false")
	l.awaitAlerts("TrainingJobNamespaceHeldBack", "TrainingJobRequestsFail", "TrainingJobReconcilesSlowly")
}

// undecodable stores a job with a port beyond int32, as an older CRD accepts it.
func (l *lab) undecodable(*testing.T) {
	const crd = "trainingjobs.trainingjob.dev"
	port := "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/replicaSpecs/additionalProperties/properties/template/properties/spec" +
		"/properties/containers/items/properties/livenessProbe/properties/httpGet/properties/port"
	l.kubectl("patch", "crd", crd, "--type=json", "-p", `[{"op":"replace","path":"`+port+`","value":{"x-kubernetes-preserve-unknown-fields":true}}]`)
	l.kubectl("wait", "--for=condition=Established", "crd/"+crd)
	bad := strings.Replace(job("default", "odd", "runPolicy: {}", "", ""), "image: i,", "image: i, livenessProbe: {httpGet: {port: 99999999999}},", 1)
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Second) { // the API server takes a moment to serve the CRD's new schema
		if out, err := l.try("create", "-f", l.file(bad)); err == nil {
			break
		} else if time.Now().After(deadline) {
			l.t.Fatal(out)
		}
	}
	l.awaitAlerts("TrainingJobUndecodable")
	l.kubectl("delete", "tj", "odd")
}

// role changes what the operator may do until the returned function is called.
func (l *lab) role(change func(role string) string) (restore func()) {
	role := l.kubectl("get", "clusterrole", "trainingjob-operator", "-o", "json")
	l.kubectl("replace", "--force", "-f", l.file(change(role)))
	return func() { l.kubectl("replace", "--force", "-f", l.file(role)) }
}

// operatorLosesARight takes the operator the right to write statuses while jobs come and others break, and gives it back.
func (l *lab) operatorLosesARight(*testing.T) {
	const many = 25 // an objective counts only where enough happens
	bulk := func(name string) string {
		var jobs strings.Builder
		for i := range many {
			jobs.WriteString(strings.Replace(job("default", fmt.Sprintf("%s-%d", name, i), "runPolicy: {}", "", ""), "name: "+name, "labels: {bulk: "+name+"}, name: "+name, 1))
		}
		return jobs.String()
	}
	l.apply(strings.ReplaceAll(bulk("breaks"), "resources: {limits: {nvidia.com/gpu: 1}}", "env: []"))
	l.kubectl("wait", "--for=condition=Running", "--timeout=120s", "tj", "-l", "bulk=breaks")
	restore := l.role(func(role string) string {
		return strings.ReplaceAll(role, `"trainingjobs/status"`, `"trainingjobs/nothing"`)
	})
	broken := time.Now()
	for i := range many {
		l.kubectl("annotate", "pod", "-l", fmt.Sprintf("trainingjob.dev/job-name=breaks-%d", i), "lab.trainingjob.dev/exit-code=1")
	}
	l.apply(bulk("late"))
	l.awaitAlerts("TrainingJobReconcileErrors", "TrainingJobNotTakenUp")
	time.Sleep(time.Until(broken.Add(90 * time.Second))) // longer than either objective allows
	restore()
	l.awaitAlerts("TrainingJobTakenUpLate", "TrainingJobDecidedLate")
}

// operatorGoesBlind takes the operator the right to list jobs, and has its watch end, as a change of the CRD does.
func (l *lab) operatorGoesBlind(*testing.T) {
	restore := l.role(func(role string) string {
		return strings.Replace(role, `"trainingjobs"`, `"nothing"`, 1)
	})
	defer restore()
	l.kubectl("patch", "crd", "trainingjobs.trainingjob.dev", "--type=json", "-p", `[{"op":"add","path":"/spec/names/shortNames/-","value":"tjob"}]`)
	l.awaitAlerts("TrainingJobOperatorBlind")
}

// operatorCrashes kills the operator five times and starts it with a memory limit that it has nearly used up. The lease of a killed leader
// has to run out, so each crash changes the leader.
func (l *lab) operatorCrashes(t *testing.T) {
	pid, _ := l.operator()
	again := l.copyOf(pid, []string{"GOMEMLIMIT=40MiB"}, "--leader-elect", "--leader-election-namespace=trainingjob-system")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		operator := again()
		l.awaitLeader(true)
		_ = operator.Process.Kill()
		_ = operator.Wait()
		l.awaitLeader(false)
	}
	l.crashed = again()
	l.t.Cleanup(func() {
		_ = l.crashed.Process.Kill()
		_ = l.crashed.Wait()
	})
	l.awaitAlerts("TrainingJobOperatorRestarts", "TrainingJobLeaderChanges", "TrainingJobOperatorMemory")
}

// copyOf returns a function that starts the program of a process with its environment, its arguments, and more of both.
func (l *lab) copyOf(pid int, environment []string, arguments ...string) func() *exec.Cmd {
	l.t.Helper()
	list := func(file string) []string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil {
			l.t.Fatal(err)
		}
		return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	}
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		l.t.Fatal(err)
	}
	args, env := append(list("cmdline"), arguments...), append(list("environ"), environment...)
	return func() *exec.Cmd {
		cmd := exec.Command(program, args[1:]...)
		cmd.Env, cmd.Dir = env, root
		if err := cmd.Start(); err != nil {
			l.t.Fatal(err)
		}
		return cmd
	}
}

// awaitLeader waits until Prometheus has scraped that the operator leads, or that none does.
func (l *lab) awaitLeader(leads bool) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); (l.query("leader_election_master_status==1") != "") != leads; time.Sleep(500 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf("leads: want %v for %s", leads, patience)
		}
	}
}

// operatorHangs stops the operator's process for as long as it takes.
func (l *lab) operatorHangs(t *testing.T) {
	pid := l.crashed.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	l.awaitAlerts("TrainingJobOperatorDown")
}

// logs has the operator's log tell of that crash in one line, and with --log-level=debug of each plan.
func (l *lab) logs(t *testing.T) {
	_, file := l.operator()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var incidents, plans []string
	for line := range strings.Lines(string(text)) {
		var entry struct {
			Msg, Job, Plan string
			TrainingJob    struct{ Name string }
			Incident       struct {
				Cause, Scope string
				Charged      bool
			}
		}
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue
		}
		if entry.Msg == "incident" && entry.Job == "twice" && entry.Incident.Cause == "Retryable" && entry.Incident.Scope == "Job" && entry.Incident.Charged {
			incidents = append(incidents, line)
		}
		if entry.Msg == "planned" && entry.TrainingJob.Name == "twice" && strings.Contains(entry.Plan, "attempt 1, 1 restarts") {
			plans = append(plans, line)
		}
	}
	if len(incidents) != 1 || len(plans) == 0 {
		t.Fatalf("%d lines of the incident, %d of plans", len(incidents), len(plans))
	}
	t.Logf("%s%s", incidents[0], plans[0])
}
