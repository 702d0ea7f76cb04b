package builder

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// ArbitraryJob draws jobs of every framework and policy, of few replicas and with small limits, so that these are met.
func ArbitraryJob() *rapid.Generator[*v1alpha1.TrainingJob] {
	return rapid.Custom(func(t *rapid.T) *v1alpha1.TrainingJob {
		options := []JobOption{
			Framework(v1alpha1.Framework(rapid.SampledFrom(state.Frameworks()).Draw(t, "framework"))),
			Workers(rapid.IntRange(1, 4).Draw(t, "workers")),
			MaxRestarts(rapid.IntRange(0, 4).Draw(t, "maxRestarts")),
			BackOff(rapid.IntRange(0, 5).Draw(t, "backoff"), 60),
			Recovery(arbitraryRecovery(t)),
		}
		for _, some := range []JobOption{
			PS(2), Evaluators(1), Leader(v1alpha1.Chief), Elastic(1, 6), AllWorkers(), AnyWorker(), Suspended(), StartupDeadline(100), Deadline(500), TTL(60),
			Progress(60, v1alpha1.StallRestart), Progress(60, v1alpha1.StallNotify), Page(9500, 60, v1alpha1.StallRestart), Page(9500, 60, v1alpha1.StallNotify), Clean(v1alpha1.CleanAll),
			Gang(v1alpha1.GangNative), MinAvailable(2), InDomain(), SchedulingTimeout(100), FirstAttempt("7"), Served(),
		} {
			if rapid.IntRange(0, 3).Draw(t, "has it") == 0 {
				options = append(options, some)
			}
		}
		job := Job("j", options...)
		arbitraryWaits(t, &job.Spec)
		for role := range job.Spec.ReplicaSpecs {
			policy := Policy(rapid.SampledFrom([]v1alpha1.RestartPolicy{v1alpha1.RestartNever, v1alpha1.RestartOnFailure, v1alpha1.RestartAlways, v1alpha1.RestartExitCode}).Draw(t, "policy"))
			scope := Scope(rapid.SampledFrom([]v1alpha1.RestartScope{"", "", v1alpha1.ScopeReplica, v1alpha1.ScopeRole, v1alpha1.ScopeJob}).Draw(t, "scope"))
			Of(role, policy, scope)(job)
		}
		return job
	})
}

// arbitraryWaits draws how long a job waits for what ends by itself, and who says when it runs.
func arbitraryWaits(t *rapid.T, spec *v1alpha1.TrainingJobSpec) {
	if spec.Progress != nil {
		spec.Progress.CheckpointGraceSeconds = rapid.SampledFrom([]int32{0, 0, 30, 100, 3600}).Draw(t, "checkpointGraceSeconds")
	}
	spec.RunPolicy.FinishGraceSeconds = ptr.To(rapid.SampledFrom([]int32{0, 30, 200}).Draw(t, "finishGrace"))
	if topology := state.TopologyOf(spec); topology != nil && rapid.Bool().Draw(t, "names roles") {
		topology.Roles = []v1alpha1.Role{v1alpha1.Worker}
	}
	if spec.Scheduling != nil && spec.Scheduling.Gang == "" && rapid.Bool().Draw(t, "queued") {
		spec.Scheduling.Queue = "q"
	}
}

func arbitraryRecovery(t *rapid.T) func(*v1alpha1.Recovery) {
	return func(r *v1alpha1.Recovery) {
		r.MaxOOMRestarts, r.MaxHangRestarts = ptr.To(rapid.Int32Range(0, 2).Draw(t, "maxOOMRestarts")), ptr.To(rapid.Int32Range(0, 2).Draw(t, "maxHangRestarts"))
		r.RestartMethod = rapid.SampledFrom([]v1alpha1.RestartMethod{v1alpha1.RestartRecreate, v1alpha1.RestartInPlace}).Draw(t, "restart")
		r.TerminationGraceSeconds = ptr.To(rapid.SampledFrom([]int32{0, 5, 60}).Draw(t, "terminationGrace"))
		if rapid.IntRange(0, 3).Draw(t, "is forced") == 0 {
			r.ForceAfterSeconds = ptr.To[int32](60)
		}
		r.NoProgressLimit = ptr.To(rapid.Int32Range(0, 3).Draw(t, "noProgressLimit"))
		r.SameCrashLimit = r.NoProgressLimit
		r.IncidentWindowSeconds = ptr.To(rapid.Int32Range(0, 90).Draw(t, "incidentWindow"))
		r.AvoidNodesSeconds = ptr.To(rapid.SampledFrom([]int32{0, 60, 86400}).Draw(t, "avoidNodes"))
		r.WindowSeconds = ptr.To(rapid.SampledFrom([]int32{60, 86400}).Draw(t, "window"))
		for range rapid.IntRange(0, 2).Draw(t, "rules") {
			rule := v1alpha1.RecoveryRule{
				ExitCodes:     rapid.SliceOfN(rapid.SampledFrom([]int32{1, 127, 137}), 0, 2).Draw(t, "exit codes"),
				Reasons:       rapid.SliceOfN(rapid.SampledFrom([]string{"OOMKilled", "Evicted", "NodeLost", "ProgressStalled", "StartupDeadline", "Vanished"}), 0, 1).Draw(t, "reasons"),
				Roles:         rapid.SliceOfN(rapid.SampledFrom([]v1alpha1.Role{v1alpha1.Worker, v1alpha1.PS}), 0, 1).Draw(t, "roles"),
				Signals:       rapid.SliceOfN(rapid.SampledFrom([]int32{9, 15}), 0, 1).Draw(t, "signals"),
				Conditions:    rapid.SliceOfN(rapid.SampledFrom([]string{"DisruptionTarget", "Throttled"}), 0, 1).Draw(t, "conditions"),
				ContainerName: rapid.SampledFrom([]string{"", "", "", "main", "side"}).Draw(t, "container"),
				Cause:         rapid.SampledFrom([]v1alpha1.Cause{"", v1alpha1.CauseRetryable, v1alpha1.CauseInfrastructure, v1alpha1.CauseFatal, v1alpha1.CauseOOM}).Draw(t, "cause"),
				Scope:         rapid.SampledFrom([]v1alpha1.RestartScope{"", v1alpha1.ScopeReplica, v1alpha1.ScopeJob}).Draw(t, "scope"),
			}
			if rule.Cause == v1alpha1.CauseFatal {
				rule.Scope = ""
			}
			r.Rules = append(r.Rules, rule)
		}
	}
}

// ArbitraryPods draws what may be seen of a job at that time after Epoch: pods of present, past and lost lives, nodes
// in trouble, reports of progress and refusals. No pod is from the future.
func ArbitraryPods(job *v1alpha1.TrainingJob, now time.Duration) *rapid.Generator[[]SnapshotOption] {
	return rapid.Custom(func(t *rapid.T) []SnapshotOption {
		seen := []SnapshotOption{Now(now)}
		for _, role := range v1alpha1.Roles {
			for i := range int(job.Spec.Replicas(role)) {
				seen = append(seen, arbitraryPod(t, job, state.Slot{Role: role, Index: i}, now)...)
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "scaled in") == 0 {
			seen = append(seen, arbitraryPod(t, job, state.Slot{Role: v1alpha1.Worker, Index: 7}, now)...)
		}
		for _, node := range someNodes {
			switch rapid.IntRange(0, 9).Draw(t, "node") {
			case 0, 1:
				seen = append(seen, NodeLost(node, before(t, now)))
			case 2:
				seen = append(seen, NodeTainted(node, "broken", before(t, now)))
			case 3:
				seen = append(seen, NodeDeleted(node))
			case 5:
				seen = append(seen, NodeSilent(node, before(t, now)))
			case 4:
				seen = append(seen, NodeUnhealthy(node, "GpuMemWatch", "[79]", before(t, now)))
			}
		}
		return append(seen, arbitraryRest(t, job, now)...)
	})
}

// evicted is the kubelet's reason for a pod that it ends.
const evicted = "Evicted"

// someNodes are those that arbitrary pods are on.
var someNodes = []string{"n1", "n2", "n3"}

func arbitraryRest(t *rapid.T, job *v1alpha1.TrainingJob, now time.Duration) []SnapshotOption {
	var seen []SnapshotOption
	if scheduling := job.Spec.Scheduling; scheduling != nil && scheduling.Gang != "" {
		seen = append(seen, arbitraryGroups(t, job, now))
	}
	if rapid.IntRange(0, 3).Draw(t, "unhealthy") == 0 {
		seen = append(seen, UnhealthyNodes(someNodes[rapid.IntRange(0, 2).Draw(t, "which")]))
	}
	seen = append(seen, arbitraryReport(t, job, now)...)
	if rapid.IntRange(0, 3).Draw(t, "one is refused") == 0 {
		seen = append(seen, arbitraryRefusal(t, job, now))
	}
	for _, some := range []SnapshotOption{NoService(), FirstLook(), FormerJobPod(), Refused(v1alpha1.ReasonForbidden, "no", now-time.Second), Refused(v1alpha1.ReasonForbidden, "no", now+time.Second)} {
		if rapid.IntRange(0, 7).Draw(t, "seen") == 0 {
			seen = append(seen, some)
		}
	}
	return seen
}

// arbitraryRefusal draws that a quota of one or the other kind refuses one worker.
func arbitraryRefusal(t *rapid.T, job *v1alpha1.TrainingJob, now time.Duration) SnapshotOption {
	resource := rapid.SampledFrom([]string{"pods", "count/pods"}).Draw(t, "quota")
	pod := state.PodName(job.Name, state.Slot{Role: v1alpha1.Worker, Index: rapid.IntRange(0, 3).Draw(t, "whose")}, state.Life{Attempt: int(job.Status.Attempt)})
	retry := now + time.Duration(rapid.IntRange(-5, 75).Draw(t, "seconds until the next try"))*time.Second
	return func(s *state.Observed) {
		s.Crowded = resource == "count/pods"
		s.Refusal = &state.Refusal{Reason: v1alpha1.ReasonQuotaExceeded, Message: "exceeded quota: q, requested: " + resource + "=1", Pods: map[string]bool{pod: true}, Retry: Epoch.Add(retry)}
	}
}

// arbitraryGroups draws what may be seen of a gang's pod groups: those of this attempt and the one before, or that there are none.
func arbitraryGroups(t *rapid.T, job *v1alpha1.TrainingJob, now time.Duration) SnapshotOption {
	gang := state.Gang{Scheduler: job.Spec.Scheduling.Gang}
	if rapid.IntRange(0, 9).Draw(t, "not served") == 0 {
		gang.Unavailable = "not served"
	}
	for _, attempt := range []int32{job.Status.Attempt - 1, job.Status.Attempt} {
		if attempt < 0 || gang.Unavailable != "" || rapid.IntRange(0, 3).Draw(t, "there is no group") == 0 {
			continue
		}
		group := state.Group{Scheduler: gang.Scheduler, Name: state.GroupName(job.Name, attempt), Minimum: rapid.Int32Range(1, 6).Draw(t, "minimum")}
		if rapid.IntRange(0, 5).Draw(t, "deleted") == 0 {
			group.Deleted = Epoch.Add(before(t, now))
		}
		if rapid.IntRange(0, 2).Draw(t, "waits") == 0 {
			group.Waiting = state.Trouble{Reason: v1alpha1.ReasonUnschedulable, Message: "no room", Time: Epoch.Add(before(t, now))}
		}
		gang.Groups = append(gang.Groups, group)
	}
	return func(s *state.Observed) { s.Gang = gang }
}

// arbitraryPod draws at most one pod of the slot's present life, and at most one of a past one.
func arbitraryPod(t *rapid.T, job *v1alpha1.TrainingJob, slot state.Slot, now time.Duration) []SnapshotOption {
	memory, err := state.ReadMemory(job)
	if err != nil {
		t.Fatal(err)
	}
	present := state.Life{Attempt: int(job.Status.Attempt)}
	if m := memory[slot.Role]; m != nil {
		present.Replacement = m.Replacements[slot.Index]
	}
	var seen []SnapshotOption
	for _, life := range []state.Life{present, {Attempt: present.Attempt, Replacement: present.Replacement - 1}, {Attempt: present.Attempt - 1}} {
		if life.Attempt < 0 || life.Replacement < 0 || rapid.IntRange(0, 3).Draw(t, "there is no pod") == 0 {
			continue
		}
		phase := rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown}).Draw(t, "phase")
		options := append(arbitraryOptions(t, now), Life(life.Attempt, life.Replacement))
		if phase == corev1.PodSucceeded {
			options = append(options, Exit(0))
		}
		if life.Before(present) && rapid.IntRange(0, 2).Draw(t, "told") == 0 {
			options = append(options, Told(life, present, rapid.SampledFrom([]string{"", "old", "new"}).Draw(t, "process")))
		}
		seen = append(seen, pod(slot.String()[:len(slot.Role)], slot.Index, phase, options))
	}
	return seen
}

// ArbitraryLosses draws what may be seen at that time after Epoch of a job whose replicas run, have yet to, or are lost: no program of
// theirs has ended by itself.
func ArbitraryLosses(job *v1alpha1.TrainingJob, now time.Duration) *rapid.Generator[[]SnapshotOption] {
	return rapid.Custom(func(t *rapid.T) []SnapshotOption {
		seen := []SnapshotOption{Now(now)}
		memory, err := state.ReadMemory(job)
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range v1alpha1.Roles {
			for i := range int(job.Spec.Replicas(role)) {
				life := Life(int(job.Status.Attempt), memory[role].Replacements[i])
				seen = append(seen, arbitraryLoss(t, state.Slot{Role: role, Index: i}, life, before(t, now))...)
			}
		}
		return append(seen, arbitraryReport(t, job, now)...)
	})
}

// arbitraryLoss draws a replica that is well, or lost at that time.
func arbitraryLoss(t *rapid.T, slot state.Slot, life PodOption, at time.Duration) []SnapshotOption {
	ways := []struct {
		phase   corev1.PodPhase
		options []PodOption
	}{
		{corev1.PodRunning, nil},
		{corev1.PodPending, nil},
		{corev1.PodRunning, []PodOption{Checked(at)}},
		{corev1.PodPending, []PodOption{Checking()}},
		{corev1.PodRunning, []PodOption{DeletedAt(at)}},
		{corev1.PodRunning, []PodOption{DeletedAt(at), Disrupted("EvictionByEvictionAPI", at)}},
		{corev1.PodRunning, []PodOption{DeletedAt(at), Disrupted("PreemptionByScheduler", at)}},
		{corev1.PodFailed, []PodOption{DeletedAt(at), Exit(143), At(at)}},
		{corev1.PodFailed, []PodOption{Exit(137), At(at), Disrupted("TerminationByKubelet", at)}},
		{corev1.PodFailed, []PodOption{ExitSaying(137, "ContainerStatusUnknown", ""), At(at)}},
		{corev1.PodFailed, []PodOption{Rejected("OutOfcpu", "no room")}},
		{corev1.PodFailed, []PodOption{FailedInit("preflight-a", 1)}},
		{corev1.PodFailed, []PodOption{Rejected(evicted, "The node had condition: [DiskPressure]."), Disrupted("TerminationByKubelet", at), StillRunning()}},
		{corev1.PodFailed, []PodOption{Rejected(evicted, "The node had condition: [DiskPressure]."), Disrupted("TerminationByKubelet", at), RanBefore()}},
		{corev1.PodFailed, []PodOption{On(""), ByKueue(at)}},
		{corev1.PodFailed, []PodOption{On("")}},
		{corev1.PodFailed, []PodOption{Exit(143), At(at), ByKueue(at)}},
	}
	way := ways[rapid.IntRange(0, len(ways)-1).Draw(t, "way")]
	seen := []SnapshotOption{pod(slot.String()[:len(slot.Role)], slot.Index, way.phase, append(way.options, life))}
	if way.phase == corev1.PodRunning && rapid.IntRange(0, 3).Draw(t, "node is lost") == 0 {
		seen = append(seen, NodeLost("node-"+slot.String(), at))
	}
	return seen
}

func arbitraryOptions(t *rapid.T, now time.Duration) []PodOption {
	options := []PodOption{On(rapid.SampledFrom(append(someNodes, "", "well")).Draw(t, "on")), At(before(t, now))}
	for _, some := range []PodOption{
		Exit(1), Exit(127), Exit(134), Exit(137), ExitSaying(137, "OOMKilled", ""), ExitSaying(128, "StartError", ""), ExitSaying(128, "StartError", NoProgram), FailedInit("preflight-a", 1), FailedInit("preflight-a", 2), Checking(), Checked(before(t, now)), FailedInit("prepare", 1), Rejected(evicted, ""), Unhealthy("gpu", "7"),
		StillRunning(), RanBefore(), ByKueue(before(t, now)),
		DeletedAt(before(t, now)), Disrupted("PreemptionByScheduler", before(t, now)), Disrupted("EvictionByEvictionAPI", before(t, now)),
		Disrupted("DeletionByTaintManager", before(t, now)), UnschedulableSince(before(t, now), "no room"), Waiting("ImagePullBackOff", ""), Fenced(), Claiming(), Ready(), MainDone(),
		MadeWith(), MadeWith("LEASE"), MadeWith("PORT"), Began(before(t, now)),
		Waiting("pulling image 20%", "\x1b[31mslow\n"), ExitSaying(1, "Error", "Connection closed by peer [10.0.0.7]:2993"), ExitSaying(1, "Error", "Connection refused, trying again; step 1"),
		ExitSaying(1, "no word of Kubernetes'", "\x00"),
		Rejected(strings.Repeat("R", 200), "\xff"),
	} {
		if rapid.IntRange(0, 11).Draw(t, "is so") == 0 {
			options = append(options, some)
		}
	}
	return options
}

// before draws a time not after now.
func before(t *rapid.T, now time.Duration) time.Duration {
	return now - time.Duration(rapid.IntRange(0, 200).Draw(t, "seconds ago"))*time.Second
}
