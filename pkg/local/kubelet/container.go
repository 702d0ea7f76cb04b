package kubelet

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// container is a container of a pod.
type container struct {
	pod *pod
	corev1.ContainerStatus
	init    bool
	process *process
	output  *output
	// image is the name of the image that the process was started with.
	image string
	// restarting is whether the process ends to start again under another name of the image.
	restarting bool
	// due is whether it starts again after a back-off.
	due bool
}

func newContainer(p *pod, name string, isInit bool) *container {
	return &container{pod: p, ContainerStatus: corev1.ContainerStatus{Name: name}, init: isInit}
}

// spec returns the container of the pod's present spec.
func (c *container) spec() *corev1.Container {
	list := c.pod.Spec.Containers
	if c.init {
		list = c.pod.Spec.InitContainers
	}
	return &list[slices.IndexFunc(list, func(s corev1.Container) bool { return s.Name == c.Name })]
}

// isNew reports whether the container has not started yet.
func (c *container) isNew() bool {
	return c.process == nil && c.State.Terminated == nil && !c.due
}

// hasEnded reports whether the container has ended for good.
func (c *container) hasEnded() bool { return c.process == nil && c.State.Terminated != nil && !c.due }

// hasFailed reports whether the container has ended for good with another exit code than 0. The end of a side-car does not matter.
func (c *container) hasFailed() bool {
	return c.hasEnded() && c.State.Terminated.ExitCode != 0 && !c.isSideCar()
}

// isDone reports whether an init container has done its work.
func (c *container) isDone() bool { return c.hasEnded() && c.State.Terminated.ExitCode == 0 }

// isSideCar reports whether an init container runs beside the others.
func (c *container) isSideCar() bool {
	return c.init && ptr.Deref(c.spec().RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}

// start starts a process. A container that cannot start has ended, as runtimes report it.
func (c *container) start() {
	p, spec := c.pod, c.spec()
	c.ContainerID, c.Image, c.image = p.kubelet.id(), spec.Image, spec.Image
	c.ImageID = imageID(spec.Image)
	if err := c.startProcess(spec); err != nil {
		now := second()
		c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 128, Reason: "StartError", Message: "exec: " + err.Error(), StartedAt: now, FinishedAt: now, ContainerID: c.ContainerID}}
		return
	}
	c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: second()}}
	c.Ready, c.Started = true, ptr.To(true)
}

func (c *container) startProcess(spec *corev1.Container) error {
	p, k := c.pod, c.pod.kubelet
	paths := k.paths(p, spec)
	files, err := k.beginLayer(p.Pod, spec, paths.Replace(spec.WorkingDir))
	if err != nil {
		return err
	}
	own := files.paths()
	translate := func(variable, text string) string {
		return k.Translate(p.Pod, variable, own.Replace(paths.Replace(text)))
	}
	environment, variables, err := k.environment(p.Pod, spec, translate)
	if err != nil {
		return err
	}
	if len(p.devices) > 0 && variables["CUDA_VISIBLE_DEVICES"] == "" && gpus(spec) > 0 {
		environment = append(environment, "CUDA_VISIBLE_DEVICES="+strings.Join(p.devices, ","))
	}
	command := slices.Clone(spec.Command)
	if len(command) == 0 {
		command = slices.Clone(k.Command)
	}
	command = append(command, spec.Args...)
	for i := range command {
		command[i] = translate("", Expand(command[i], variables))
	}
	pod := p.Pod
	if c.output, err = openOutput(k.Folder, k.Log(pod, c.Name), func(text string) { k.Line(pod, c.Name, text) }); err != nil {
		return err
	}
	_ = os.Remove(p.terminationFile(spec))
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = translate("", spec.WorkingDir), environment, attributes()
	cmd.Path, cmd.Err = lookPath(command[0], cmd.Dir, environment)
	files.place(cmd)
	var mine *process
	mine, err = start(cmd, c.output, func(code int32) {
		k.Post(func() { c.ended(mine, code) })
	})
	if err != nil {
		c.output.close()
		return err
	}
	c.process = mine
	return nil
}

// ended takes over the end of a process, and starts the container again if its pod is to go on.
func (c *container) ended(process *process, code int32) {
	if process != c.process {
		return
	}
	if process.kill != nil {
		process.kill.Stop()
	}
	if process.forced != nil {
		code = *process.forced
	}
	c.process, c.Ready, c.Started = nil, false, ptr.To(false)
	c.State = corev1.ContainerState{Terminated: c.termination(code)}
	c.output.close()
	if c.pod.off {
		c.pod.kubelet.forget(c.pod)
		return
	}
	if c.pod.DeletionTimestamp == nil && !isOver(c.pod.Pod) {
		c.again(process, code)
	}
	c.pod.sync()
}

// again starts the container again if its image has another name or its policy requires it: at once the first time, then after a
// back-off.
func (c *container) again(process *process, code int32) {
	switch {
	case c.restarting:
		c.restarting = false
		c.restart()
	case process.stopped || !c.restarts(code):
	case c.RestartCount == 0:
		c.restart()
	default:
		c.due = true
		wait := min(firstBackOff<<min(c.RestartCount-1, 5), longestBackOff)
		time.AfterFunc(wait, func() { c.pod.kubelet.Post(c.startDue) })
	}
}

// The back-off of a kubelet.
const (
	firstBackOff   = 10 * time.Second
	longestBackOff = 5 * time.Minute
)

// startDue starts a container whose back-off is over.
func (c *container) startDue() {
	c.due = false
	if c.pod.off || c.pod.DeletionTimestamp != nil || isOver(c.pod.Pod) {
		return
	}
	c.restart()
	c.pod.sync()
}

func (c *container) restart() {
	c.LastTerminationState, c.RestartCount = c.State, c.RestartCount+1
	c.start()
}

// restarts reports whether the kubelet starts the container again after that exit code, by its rules, its policy, or the pod's.
func (c *container) restarts(code int32) bool {
	spec := c.spec()
	for _, rule := range spec.RestartPolicyRules {
		if codes := rule.ExitCodes; codes != nil && rule.Action == corev1.ContainerRestartRuleActionRestart &&
			slices.Contains(codes.Values, code) == (codes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn) {
			return true
		}
	}
	policy := corev1.RestartPolicy(ptr.Deref(spec.RestartPolicy, corev1.ContainerRestartPolicy(c.pod.Spec.RestartPolicy)))
	if c.init && spec.RestartPolicy == nil && code == 0 {
		return false
	}
	return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
}

// termination returns the end of the container with the message that the kubelet finds: in the file for it, or at the end of the log.
func (c *container) termination(code int32) *corev1.ContainerStateTerminated {
	end := &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Completed", FinishedAt: second(), ContainerID: c.ContainerID}
	if c.State.Running != nil {
		end.StartedAt = c.State.Running.StartedAt
	}
	if code != 0 {
		end.Reason = "Error"
	}
	spec := c.spec()
	text, _ := os.ReadFile(c.pod.terminationFile(spec)) // few programs write one
	end.Message = string(text[:min(len(text), 4096)])
	if end.Message == "" && code != 0 && spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		end.Message = c.output.tail()
	}
	return end
}

// Fault breaks a process.
type Fault struct{ process *process }

// Kill ends the process group by SIGKILL.
func (f Fault) Kill() { f.process.end() }

// Exit ends the process group, and the container's status shows that exit code.
func (f Fault) Exit(code int32) {
	f.process.forced = &code
	f.process.end()
}

// Freeze stops the process group by SIGSTOP: it hangs.
func (f Fault) Freeze() { freezeGroup(f.process.cmd.Process.Pid) }
