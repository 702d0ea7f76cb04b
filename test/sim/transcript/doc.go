// Package transcript holds what real kubelets said of pods, and compares with it what the product makes of that, and what the
// simulation's kubelets say. Kubernetes 1.37.1 with containerd 1.6 was recorded, each version of a pod as a watch saw it.
//
// A file of testdata is one incident: what truly happened, the job, what is to be found out, and then the versions:
//
//	<seconds> <pod>: <phase>, on <node>, reason <reason> says <message>, ready, disrupted <reason> <second>, restarting-all,
//	    ends-by <second> grace <seconds>, init|container <name> waiting <reason>|runs|exit <end> last <end> restarts <n> says <message>
//	<seconds> node <name>: not ready
//
// An <end> is <code> <reason> <second|unknown>. "last" is how the container had ended before. A message has no comma, and may be cut.
// A pod is <role>-<index>, and <role>-<index>/<replacement> if it replaces another. What is to be found out is "nothing",
// "succeeded <reason>", "failed <reason> <cause> <reason> <pod>", or one incident after the other, oldest first, separated by ";":
// <cause> <reason> <pod> <scope> charged|free. Pods that cannot be told apart by what is known are separated by "|".
package transcript
