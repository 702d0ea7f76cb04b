package story

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// advice is what to do for one reason. NAME, NS, POD, RANK, ATTEMPT and NODE in it are filled in.
type advice struct {
	reasons []string
	text    string
}

const (
	changeTemplate = "Templates change while the job is suspended: kubectl tj suspend -n NS NAME, kubectl edit tj -n NS NAME, kubectl tj resume -n NS NAME."
	waitForQueue   = "Wait for the queue: kubectl get workloads.kueue.x-k8s.io -n NS, kubectl describe localqueues.kueue.x-k8s.io -n NS "
	readLog        = "Read its log: kubectl tj logs -n NS NAME --rank RANK --attempt ATTEMPT --tail 100"
	submitAgain    = "A job that has finished does not start again: correct the cause and submit it as another job."
)

// stalls are for jobs that need a person to continue.
var stalls = []advice{
	{[]string{v1alpha1.ReasonQuotaExceeded}, "See what the quota leaves: kubectl describe quota -n NS. Ask for less, or have it raised; the operator tries again by itself."},
	{[]string{v1alpha1.ReasonForbidden}, "Change the template as the message shows, or ask an administrator for an exemption. " + changeTemplate},
	{[]string{v1alpha1.ReasonAdmissionUnavailable}, "Report it to an administrator: a required admission webhook does not answer, or the API server refuses. The operator tries again by itself."},
	{[]string{v1alpha1.ReasonInvalid}, "Correct what the message names. " + changeTemplate},
	{[]string{v1alpha1.ReasonNameConflict}, "Do what the message names, or rename the job; what holds the name: kubectl get pods,services -n NS. The operator tries again by itself."},
	{[]string{v1alpha1.ReasonPodNotEnding}, "See why the pod does not end: kubectl describe pod -n NS POD. recovery.forceAfterSeconds bounds the wait, for jobs whose checkpoints take no harm."},
}

// waits are for jobs whose pods do not run yet, by the reason of a condition or of a pod.
var waits = []advice{
	{[]string{v1alpha1.ReasonUnschedulable, v1alpha1.ReasonGangWaiting}, waitForRoom},
	{[]string{v1alpha1.ReasonGangUnavailable}, "Have the gang's scheduler installed, or write scheduling.gang: None. kubectl tj doctor shows which gang APIs the cluster serves."},
	{[]string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"}, "Check the image's name, and imagePullSecrets: kubectl describe pod -n NS POD. " + changeTemplate},
	{[]string{"CreateContainerConfigError"}, "Mend what the message names: create the ConfigMap or Secret that is missing, and the kubelet tries again by itself; or, if the image may not run as root, set securityContext.runAsUser. " + changeTemplate},
	{[]string{"CreateContainerError", "RunContainerError", "StartError"}, "Check command, working directory and mounts. " + changeTemplate},
	{[]string{"CrashLoopBackOff"}, "Read its log: kubectl tj logs -n NS NAME --rank RANK --previous"},
	{[]string{v1alpha1.ReasonRestartHeld}, "Wait: the operator restarts it by itself, once the others have started or ended. kubectl tj status -n NS NAME --watch"},
	{[]string{v1alpha1.ReasonFormerPodsEnding}, "Wait: pods of an earlier life end first, as they could still write a checkpoint."},
	{[]string{v1alpha1.ReasonBackOff}, "Wait for the time above, or find out meanwhile why it broke. " + readLog},
}

// failures are for what broke, by the reason of the failure or of the verdict, else by its cause.
var failures = []advice{
	{[]string{v1alpha1.ReasonDeadlineExceeded}, "Raise runPolicy.activeDeadlineSeconds, or make the run shorter."},
	{[]string{v1alpha1.ReasonSchedulingTimeout}, "Ask for less, or raise scheduling.timeoutSeconds."},
	{[]string{v1alpha1.ReasonNoProgress}, "See in the log what each attempt ends with at the same step; recovery.noProgressLimit bounds such restarts. " + readLog},
	{[]string{v1alpha1.ReasonStartupDeadline}, "See what the slowest replica waited for: kubectl describe pod -n NS POD. runPolicy.startupDeadlineSeconds sets the limit."},
	{[]string{v1alpha1.ReasonDomainFull}, "Nothing: the whole job got new pods, in any domain with room for it."},
	{[]string{v1alpha1.ReasonDeleted}, "Nothing: a user or controller deleted the pod, and it was replaced."},
	{[]string{"StartError", "ContainerCannotRun", "CreateContainerError", "RunContainerError"}, "Check command, working directory and mounts. " + changeTemplate},
	{[]string{v1alpha1.ReasonNodeLost, v1alpha1.ReasonNodeSilent, v1alpha1.ReasonNodeDeleted, v1alpha1.ReasonNodeTainted, v1alpha1.ReasonNodeUnhealthy, v1alpha1.ReasonDeviceUnhealthy, v1alpha1.ReasonPreflightFailed}, "Nothing for the job: its new pods avoid the node. Report it to an administrator: kubectl describe node NODE."},
}

// causes are the advice by cause, if no reason has a better one.
var causes = map[v1alpha1.Cause]string{
	v1alpha1.CauseOOM:            "Raise resources.limits.memory, or make batches or the number of loader processes smaller. " + changeTemplate,
	v1alpha1.CausePreempted:      "Nothing: the job made way for one of higher priority, or for the owner of quota that its queue had borrowed. Against higher priority: scheduling.priorityClassName.",
	v1alpha1.CauseInfrastructure: "Nothing: the pod was lost and not at fault.",
	v1alpha1.CauseRequested:      "Nothing: a user requested it.",
	v1alpha1.CauseCompleted:      "Nothing: the program was done, and restartPolicy Always runs it again.",
	v1alpha1.CauseHang:           "See what the ranks wait for: kubectl tj stacks -n NS NAME, kubectl exec -n NS POD -- py-spy dump --pid 1, or the last lines of all: kubectl tj logs -n NS NAME --tail 5",
	v1alpha1.CauseStartup:        "See why the container did not start: kubectl describe pod -n NS POD. " + changeTemplate,
}

// codes are the advice for exit codes that say what is wrong.
var codes = map[int32]string{
	126: "Exit code 126: the command is there but cannot be executed. Check the file's mode and the image's platform.",
	127: "Exit code 127: the command was not found in the image. Check command and args of the template.",
	134: "Exit code 134: the program aborted itself (SIGABRT), as NCCL and failed assertions do.",
	137: "Exit code 137: something killed it (SIGKILL) that was not its memory limit: kubectl describe pod -n NS POD.",
	139: "Exit code 139: it accessed invalid memory (SIGSEGV). A core dump or faulthandler shows where.",
}

// next returns what to do now, best first.
func next(v *View, s *state.Snapshot) []string {
	job := v.Job
	var list []string
	switch {
	case job.DeletionTimestamp != nil, job.Spec.IsManagedElsewhere() && !job.Spec.IsDispatched():
		return nil
	case v.IsStopped:
		list = append(afterFailure(v), "The run was stopped. Run it again: kubectl tj run FILE")
	case state.ClusterOf(job) != "":
		list = []string{fmt.Sprintf("Its pods and logs are in cluster %s. Use the context of that cluster: kubectl tj why -n NS NAME --context CONTEXT", state.ClusterOf(job))}
	case job.Status.Phase == "":
		list = []string{"If this lasts, the operator may not be running: kubectl tj doctor"}
	case isTrue(job, v1alpha1.ConditionFailed):
		list = append(afterFailure(v), submitAgain)
	case isTrue(job, v1alpha1.ConditionSucceeded):
		return nil
	case isTrue(job, v1alpha1.ConditionQueued) && !isPaused(job):
		list = answering(job.Status.Message)
		list = append(list, waitForQueue+v.queue())
	case job.Spec.IsSuspended():
		list = []string{howToStart(v)}
	case isTrue(job, v1alpha1.ConditionStalled):
		stalled := condition(job, v1alpha1.ConditionStalled)
		if list = answering(stalled.Message, job.Status.Message); len(list) == 0 {
			list = matching(stalls, stalled.Reason)
		}
	default:
		list = underWay(v, s)
	}
	return fill(v, s, v.inWordsOfLocalRuns(v.inKubeflowsWords(list)))
}

// howToStart returns how a suspended job starts: Kueue suspends the Kubeflow job of a served one.
func howToStart(v *View) string {
	if v.Served != nil && v.queue() != "" && !isPaused(v.Job) {
		return waitForQueue + v.queue()
	}
	return "Start it again: kubectl tj resume -n NS NAME"
}

// isPaused reports whether a user keeps the job out of its queue.
func isPaused(job *v1alpha1.TrainingJob) bool {
	_, is := job.Annotations[v1alpha1.AnnotationQueuePaused]
	return is
}

// underWay returns what to do about a job that has not come to rest.
func underWay(v *View, s *state.Snapshot) []string {
	reasons, texts := []string{v.Job.Status.Reason}, []string{}
	for r := range s.Replicas() {
		if r.Pod != nil {
			reasons = append(reasons, r.Pod.Waiting.Reason)
			texts = append(texts, r.Pod.Waiting.Message)
		}
	}
	list := answering(append(append(texts, v.Job.Status.Message), v.podWarnings()...)...)
	if len(list) == 0 {
		list = matching(waits, reasons...)
	}
	list = append(list, whatIsHeld(v, s)...)
	if v.Job.Spec.Elastic != nil && v.Job.Status.Phase == v1alpha1.PhasePending {
		list = append(list, fmt.Sprintf("Make do with fewer workers: kubectl tj scale -n NS NAME --replicas %d", v.Job.Spec.Elastic.MinReplicas))
	}
	if len(list) > 0 {
		return list
	}
	if c := condition(v.Job, v1alpha1.ConditionProgressing); c != nil && c.Status == "False" {
		return []string{causes[v1alpha1.CauseHang]}
	}
	if v.Job.Status.Phase == v1alpha1.PhaseRestarting || v.Job.Status.Reason == v1alpha1.ReasonSomeReplicasRunning {
		return append(afterFailure(v), "Wait: the operator restarts it by itself. kubectl tj status -n NS NAME --watch")
	}
	return nil
}

// whatIsHeld returns what to do if replicas run while others fit nowhere, and nothing ends that.
func whatIsHeld(v *View, s *state.Snapshot) []string {
	if scheduling := v.Job.Spec.Scheduling; v.Job.Spec.Elastic != nil || scheduling != nil && (scheduling.Gang != "" || scheduling.TimeoutSeconds != nil) {
		return nil
	}
	running, unplaced := 0, 0
	held := resource.Quantity{}
	for r := range s.Replicas() {
		switch {
		case r.State == state.Running:
			running++
			held.Add(gpusOf(&v.Job.Spec, r.Slot.Role))
		case r.Pod != nil && r.Pod.Waiting.Reason == corev1.PodReasonUnschedulable:
			unplaced++
		}
	}
	if running == 0 || unplaced == 0 || v.Job.Status.Phase != v1alpha1.PhasePending {
		return nil
	}
	what := Count(running, "replica")
	if !held.IsZero() {
		what += " with " + held.String() + " GPUs"
	}
	return []string{what + " of the job wait for the rest, without limit. To start all or none write scheduling.gang; to end the wait write scheduling.timeoutSeconds."}
}

// gpusOf returns how many devices a replica of the role requests.
func gpusOf(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) resource.Quantity {
	sum := resource.Quantity{}
	for _, c := range spec.ReplicaSpecs[role].Template.Spec.Containers {
		for name, amount := range c.Resources.Limits {
			if strings.HasSuffix(string(name), "/gpu") {
				sum.Add(amount)
			}
		}
	}
	return sum
}

// afterFailure returns what to do about the latest failure.
func afterFailure(v *View) []string {
	f := v.Job.Status.LastFailure
	list := matching(failures, v.Job.Status.Reason)
	if f == nil {
		return list
	}
	byReason := matching(failures, f.Reason)
	if failure.LastWords(f) == "" && failure.IsOfProgram(f) { // the runtime speaks
		byReason = append(answering(f.Message), byReason...)
	}
	switch {
	case f.Reason == v1alpha1.ReasonSchedulingTimeout && len(answering(f.Message)) > 0:
		return answering(f.Message)
	case failure.IsMisconfiguredCheck(f):
		return append(list, "Correct the configuration of the preflight check, which does not blame the node: kubectl describe pod -n NS POD. "+changeTemplate)
	case failure.LacksProgram(f):
		return append(list, "Correct command and args of the template: the program is not in the image, or is not executable. A script needs its interpreter and the executable bit.")
	case f.Reason == v1alpha1.ReasonDeadlineExceeded && f.Pod != "": // the kubelet's word for the pod's own
		return []string{"Raise activeDeadlineSeconds of the template's spec, which ended the pod, or leave it out. " + changeTemplate}
	case failure.MayBeKubelets(&v.Job.Spec, f):
		list = append(list, "See whether a probe or a postStart hook failed, for which the kubelet ends a container: kubectl describe pod -n NS POD.", readLog)
	case len(byReason) > 0:
		list = append(list, byReason...)
	case causes[f.Cause] != "":
		list = append(list, causes[f.Cause])
	default:
		if hint := codes[exitCode(f)]; hint != "" {
			list = append(list, hint)
		}
		list = append(list, readLog)
	}
	slices.Sort(list[min(len(list), 1):])
	return slices.Compact(list)
}

// matching returns the advice for the reasons, each once, in the order of the table.
func matching(table []advice, reasons ...string) []string {
	var list []string
	for _, a := range table {
		if slices.ContainsFunc(a.reasons, func(r string) bool { return slices.Contains(reasons, r) }) {
			list = append(list, a.text)
		}
	}
	return list
}

// fill puts the names of the job and of the replica that matters into the advice.
func fill(v *View, s *state.Snapshot, list []string) []string {
	slot, pod, node, attempt := state.Leader(&v.Job.Spec), "", "", int(v.Job.Status.Attempt)
	if f := v.Job.Status.LastFailure; f != nil {
		slot, pod, node, attempt = SlotOf(f), f.Pod, f.Node, int(f.Attempt)
	}
	for r := range s.Replicas() {
		if waitsFor(r) != "" {
			slot, pod, node = r.Slot, r.Pod.Name, r.Pod.Node
			break
		}
	}
	if pod == "" {
		pod = state.PodName(v.Job.Name, slot, s.Life(slot))
	}
	words := strings.NewReplacer("-n NS NAME", "-n "+v.Job.Namespace+" "+v.Name(), "-n NS", "-n "+v.Job.Namespace, "POD", pod,
		"RANK", fmt.Sprint(state.Rank(&v.Job.Spec, slot)), "ATTEMPT", fmt.Sprint(attempt), "node NODE", "node "+node)
	filled := make([]string, 0, len(list))
	for _, text := range list {
		if text = Locally(words.Replace(text), v.Local); text != "" && !slices.Contains(filled, text) {
			filled = append(filled, text)
		}
	}
	return filled
}
