// Package build makes the children of a TrainingJob as values, each in the file of its name: its headless Service, its pods, their group, and the
// Secret of an MPI job. child.go has what they share.
//
// A pod is the user's template and these injections, nothing else: name, labels, controller reference, annotations with the number of its
// life and its main container, host name, subdomain, restartPolicy Never, a grace period of at least 1 s, tolerations of 30 s for nodes
// that are not ready, a preference for other nodes than those that the job avoids, and the environment variables that the template does not
// set itself. A pod that can restart in place also has its life in an annotation. A pod whose ranks save a checkpoint on request finds the
// request in a file. A pod with hostNetwork has the dnsPolicy ClusterFirstWithHostNet, and declares the ports at which it listens.
package build
