// Package replay sends the watch of a large job's pods, as an API server encodes it, through the informer of the operator's cache:
//
//	go test ./test/sim/replay -run '^$' -bench . -benchtime 1x
//
// Each of 10,000 pods starts, is ended by a restart of the whole job, starts again and ends, in the versions that a watch on real kubelets
// saw: five until it runs and five until it is gone. That is played six times. The pods are those that the operator makes for a PyTorch job,
// with what an API server, a scheduler and a kubelet add, managed fields included.
//
// Everything between the bytes of the connection and the handlers of events is real: decoding, trimming, queue, indexes. There is no
// connection, and nobody acts on the events.
package replay
