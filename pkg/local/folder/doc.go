// Package folder is the folder of a local run. The run writes it, and other processes read it in place of an API server.
//
//	state.json     the job, its pods and its Events, after each change; only its owner may read it
//	logs/NAME.log  what a container printed in one life of its pod
//	times/NAME     when it printed each line: 8 bytes for each, and 8 zeros where a container started
//
// Client reads and watches the state as clients of Kubernetes do. Log reads a log with the time of each line, as kubelets serve it. Both also
// work after the end of the run.
package folder
