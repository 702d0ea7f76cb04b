package advice

import (
	"slices"
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Verb is what a command is called for a TrainingJob, a served Kubeflow job, a served JobSet and a local run; empty where there is no such command.
type Verb struct{ job, served, set, local string }

func everywhere(call string) Verb { return Verb{call, call, call, call} }
func onClusters(call string) Verb { return Verb{job: call, served: call, set: call} }

// change changes a template. A JobSet keeps its own.
const change = "kubectl tj suspend $job, kubectl edit $kind $place $name, kubectl tj resume $job"

// The verbs. $place is the namespace or the folder of the local run, $job the place and the name for kubectl tj, $name the name alone.
var (
	List     = everywhere("kubectl tj list $place")
	Logs     = everywhere("kubectl tj logs $job")
	Report   = everywhere("kubectl tj report $job")
	Stacks   = everywhere("kubectl tj stacks $job")
	Status   = everywhere("kubectl tj status $job")
	Why      = everywhere("kubectl tj why $job")
	Delete   = onClusters("kubectl tj delete $job")
	Doctor   = onClusters("kubectl tj doctor")
	Resume   = onClusters("kubectl tj resume $job")
	Scale    = onClusters("kubectl tj scale $job")
	Suspend  = onClusters("kubectl tj suspend $job")
	Change   = Verb{job: change, served: change}
	Edit     = onClusters("kubectl edit $kind $place $name")
	Apply    = onClusters("kubectl apply")
	Create   = onClusters("kubectl create")
	Describe = onClusters("kubectl describe")
	Exec     = onClusters("kubectl exec")
	Get      = onClusters("kubectl get")
	Uncordon = onClusters("kubectl uncordon")
	Submit   = Verb{job: "kubectl tj submit -f FILE"}
	Convert  = Verb{served: "kubectl tj convert $place --from-cluster $kind/$name"}
	Rewrite  = Verb{set: "kubectl tj submit -f FILE"}
	Remake   = Verb{set: "kubectl tj delete $job, kubectl create -f FILE"} // of the TrainJob, where one owns the JobSet
	Recreate = Verb{served: "kubectl delete $kind $place $name, kubectl create -f FILE", set: Remake.set}
	Run      = Verb{local: "kubectl tj run FILE"}
)

// Advice for what the facts show without a reason, and for several reasons.
var (
	ReadLog        = do(Logs, "--rank $rank --attempt $attempt --tail 100", "Read its log: $do")
	Stopped        = do(Run, "", "The run was stopped. Run it again: $do")
	OtherCluster   = do(Why, "--context CONTEXT", "The pods and logs are in cluster $cluster. Use the context of that cluster: $do")
	Unseen         = do(Doctor, "", "If this lasts, the operator may not be running: $do")
	Suspended      = do(Resume, "", "Start it again: $do")
	Restarting     = do(Status, "--watch", "Wait until the operator has restarted it. Follow it: $do")
	Shrinkable     = do(Scale, "--replicas $least", "Continue with fewer workers: $do")
	HeldBack       = set("scheduling.gang", "$held of the job wait for the rest without a limit. To start all or none, set $field. To limit the wait, set scheduling.timeoutSeconds.")
	NoStacks       = row(say("Write progress: {port: 9500} and call trainingjob.report()."), do(Exec, "$place POD -- py-spy dump --pid 1", "Or use $do"))
	Unread         = row(say("Call trainingjob.report() first of all in the program, and let the operator reach the page through NetworkPolicies. The training may go on well."))
	NoProgram      = say("Correct command and args of the template, because the program is not in the image, or is not executable. A script needs its interpreter and the executable bit.")
	BadCheck       = row(say("Correct the configuration of the preflight check. This failure does not blame the node."), see("Check: $do."), changeTemplate)
	PodDeadline    = row(say("Raise activeDeadlineSeconds of the template's spec, or remove it, because it ended the pod."), changeTemplate)
	NoProgress     = row(do(Logs, "--tail 5", "If they are too old, see the last lines of all ranks: $do."), set("progress.port", "To have hangs noticed and restarted, set $field and progress.action: Restart, and call trainingjob.report() (docs/recovery.md#progress)."))
	Kubelets       = see("This exit code often means that a probe or a postStart hook failed. Check: $do")
	Queued         = row(do(Get, "workloads.kueue.x-k8s.io $place", "Wait for the queue. See which jobs wait: $do."), do(Describe, "localqueues.kueue.x-k8s.io $place $queue", "See the quota in use: $do"))
	changeTemplate = row(do(Change, "", "Templates change while the job is suspended: $do."), do(Remake, "", "A $Kind keeps its templates. Delete it and create it again: $do."), do(Run, "", "Change the file and run it again: $do."))
	waitForRoom    = row(say("Wait for room, or request less."), do(Describe, "nodes", "$do shows what is free."))
	checkQuota     = row(do(Describe, "quota $place", "Check the quota: $do."), say("Request less, or ask for more quota. The operator retries."))
	createMissing  = say("Create the missing ConfigMap or Secret; the kubelet retries.")
	checkStart     = row(say("Check the command, the working directory and the mounts."), changeTemplate)
	Finished       = row(
		do(Submit, "", "A job that has finished does not start again. Correct the cause and submit it under another name: $do"),
		do(Recreate, "", "A $Kind that has finished does not start again. Correct the cause, delete the job and create it again: $do"),
		do(Run, "", "Correct the cause and run it again: $do"),
	)
)

// see is advice to look at the pod.
func see(text string) Advice { return do(Describe, "pod $place $pod", text) }

// Lacking returns what to do about a field that a Kubeflow job does not have.
func Lacking(field string) Advice {
	section, name, _ := strings.Cut(field, ".")
	a := row(do(Convert, "", "A $Kind has no field $field. Convert the job to a TrainingJob: $do"), do(Rewrite, "", "A $Kind has no field $field. Write the job as a TrainingJob: $do"))
	if section == "recovery" || section == "progress" {
		a = do(Edit, "", "A $Kind has no field $field. Write it as JSON in the annotation "+v1alpha1.AnnotationOverrides+`, such as {"`+section+`":{"`+name+`":...}}: $do`)
	}
	for i := range a {
		a[i].Field = field
	}
	return a
}

// Table has the advice for reasons, best first.
type Table []struct {
	reasons []string
	advice  Advice
}

// For returns the advice for the reasons, each once.
func (t Table) For(reasons ...string) []Advice {
	var list []Advice
	for _, each := range t {
		if slices.ContainsFunc(each.reasons, func(r string) bool { return slices.Contains(reasons, r) }) {
			list = append(list, each.advice)
		}
	}
	return list
}

// Stalls are for jobs that need a person to continue.
var Stalls = Table{
	{[]string{v1alpha1.ReasonQuotaExceeded}, checkQuota},
	{[]string{v1alpha1.ReasonForbidden}, row(say("Change the template as the message shows, or ask an administrator for an exemption."), changeTemplate)},
	{[]string{v1alpha1.ReasonAdmissionUnavailable}, say("Report it to an administrator, because a required admission webhook does not answer, or the API server refuses. The operator retries.")},
	{[]string{v1alpha1.ReasonInvalid}, row(say("Correct what the message names."), changeTemplate)},
	{[]string{v1alpha1.ReasonNameConflict}, row(say("Follow the message, or rename the job."), do(Get, "pods,services $place", "To see what uses the name: $do."), say("The operator retries."))},
	{[]string{v1alpha1.ReasonPodNotEnding}, row(see("See why the pod does not end: $do."), set("recovery.forceAfterSeconds", "$field limits the wait. Set it only if late writes cannot harm the checkpoints."))},
}

// Waits are for jobs whose pods do not run yet, by the reason of a condition or of a pod.
var Waits = Table{
	{[]string{v1alpha1.ReasonUnschedulable, v1alpha1.ReasonGangWaiting}, waitForRoom},
	{[]string{v1alpha1.ReasonGangUnavailable}, row(set("scheduling.gang", "Ask an administrator to install the gang scheduler, or write $field: None."), do(Doctor, "", "$do shows which gang APIs the cluster serves."))},
	{[]string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"}, row(say("Check the image's name and imagePullSecrets."), see("See why the pull fails: $do."), changeTemplate)},
	{[]string{"CreateContainerConfigError"}, row(createMissing, say("If the image may not run as root, set securityContext.runAsUser."), changeTemplate)},
	{[]string{"CreateContainerError", "RunContainerError", "StartError"}, checkStart},
	{[]string{"CrashLoopBackOff"}, do(Logs, "--rank $rank --previous", "Read its log: $do")},
	{[]string{v1alpha1.ReasonRestartHeld}, do(Status, "--watch", "Wait until the other replicas have started or ended. The operator then restarts it. Follow it: $do")},
	{[]string{v1alpha1.ReasonFormerPodsEnding}, say("Wait until the pods of an earlier life have ended, because they could still write a checkpoint.")},
	{[]string{v1alpha1.ReasonBackOff}, row(say("Wait for the time above. Meanwhile, find out why it broke."), ReadLog)},
}

// Failures are for what broke, by the reason of the failure or of the verdict.
var Failures = Table{
	{[]string{v1alpha1.ReasonDeadlineExceeded}, say("Raise runPolicy.activeDeadlineSeconds, or make the run shorter.")},
	{[]string{v1alpha1.ReasonSchedulingTimeout}, set("scheduling.timeoutSeconds", "Request less, or raise $field.")},
	{[]string{v1alpha1.ReasonNoProgress}, set("recovery.noProgressLimit", "Correct the error: each attempt ends at the same place. $field and recovery.sameCrashLimit limit such restarts.")},
	{[]string{v1alpha1.ReasonStartupDeadline}, row(say("Find out what the slowest replica waited for."), see("See its pod: $do."), say("runPolicy.startupDeadlineSeconds sets the limit."))},
	{[]string{v1alpha1.ReasonDomainFull}, say("No action needed. The whole job got new pods, in any domain with room for it.")},
	{[]string{v1alpha1.ReasonDeleted}, say("No action needed. A user or controller deleted the pod, and the operator replaced it.")},
	{[]string{"StartError", "ContainerCannotRun", "CreateContainerError", "RunContainerError"}, checkStart},
	{[]string{v1alpha1.ReasonNodeLost, v1alpha1.ReasonNodeSilent, v1alpha1.ReasonNodeDeleted, v1alpha1.ReasonNodeTainted, v1alpha1.ReasonNodeUnhealthy, v1alpha1.ReasonDeviceUnhealthy, v1alpha1.ReasonPreflightFailed},
		row(say("No action needed for the job: its new pods avoid the node."), do(Describe, "node $node", "Report the node to an administrator: $do"))},
}

// Causes are for failures without advice by reason.
var Causes = map[v1alpha1.Cause]Advice{
	v1alpha1.CauseOOM:            row(say("Raise resources.limits.memory, or use smaller batches or fewer loader processes."), changeTemplate),
	v1alpha1.CausePreempted:      set("scheduling.priorityClassName", "No action needed. The job made way for one of higher priority, or for the owner of quota that its queue had borrowed. Against higher priority, set $field."),
	v1alpha1.CauseInfrastructure: say("No action needed: the program did not cause this."),
	v1alpha1.CauseRequested:      say("No action needed: a user requested it."),
	v1alpha1.CauseCompleted:      say("No action needed. The program exited with 0, and restartPolicy Always restarts it."),
	v1alpha1.CauseHang:           row(do(Stacks, "", "See where the ranks wait: $do."), do(Exec, "$place $pod -- py-spy dump --pid 1", "If they serve no stacks: $do."), do(Logs, "--tail 5", "The last lines of all ranks: $do")),
	v1alpha1.CauseStartup:        row(say("Find out why the container did not start."), see("See its pod: $do."), changeTemplate),
}

// Codes are for exit codes with a meaning.
var Codes = map[int32]Advice{
	126: say("Exit code 126: the command exists, but cannot be executed. Check the file's mode and the image's platform."),
	127: say("Exit code 127: the command was not found in the image. Check command and args of the template."),
	134: say("Exit code 134: the program aborted itself (SIGABRT), as NCCL and failed assertions do."),
	137: row(say("Exit code 137: something other than its memory limit killed the program (SIGKILL), such as the kernel when no memory is left."), see("Check: $do")),
	139: say("Exit code 139: the program accessed invalid memory (SIGSEGV). A core dump or faulthandler shows where."),
}
