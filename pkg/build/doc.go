// Package build makes the children of a TrainingJob as values: its headless Service, its pods and their spares, and its
// progress Lease.
//
// A pod is the user's template and these injections, nothing else: name, labels, controller reference, host name,
// subdomain, restartPolicy Never, tolerations of 30 s for nodes that are not ready, affinity off the nodes that
// the job avoids with an annotation that names them, and the environment variables that the template does not set itself.
//
// Decisions, newest first:
//   - The Service selects by a label that says of a pod that it has a name in DNS. Names for all ranks are written anew with each pod that
//     comes or goes: ranks that look only for their leader do without (docs/benchmarks.md has what both cost).
//   - A template whose own nodes are all to be avoided avoids none: an affinity that its node does not match the kubelet turns
//     away for ever, and there is no other node for it.
//   - A spare is near the replicas of any attempt: one that waited for those of a past attempt would never be placed.
//   - The environment goes into every container and init container: a side-car that watches the training needs it too.
//   - publishNotReadyAddresses: ranks look each other up before they are ready, so no init container has to wait for DNS.
package build
