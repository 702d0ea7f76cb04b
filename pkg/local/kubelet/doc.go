// Package kubelet runs the pods of the API server in memory as processes of this machine. It writes the statuses that a kubelet writes, and
// it decides nothing about the job.
//
//	pod            an environment, a folder for its volumes, and the containers
//	init container a process; the next one starts when it has exited with 0. One with restartPolicy Always is a side-car
//	container      a process group, with its output in a log file for each life
//	deletion       SIGTERM to each group, and SIGKILL after the grace period; then the pod is removed
//	another image  the container ends and starts again in its pod, as the operator's restarts in place need it
//	node off       its processes end at once, and its pods' statuses stay as they are
//
// There are no images, cgroups or network namespaces. A path of a volume in a command, an argument or a variable is replaced by the volume's
// folder. Options.Translate does the same for the names of hosts.
//
// All methods run in one goroutine, the caller's loop. Processes report their ends to it through Options.Post.
package kubelet
