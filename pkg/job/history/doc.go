// Package history lists what happened to a job between two of its statuses: the status that was read, and the next one, once it is written.
//
//	Explained   the true cause of an earlier restart shows
//	Queued      the job has left its queue
//	Restarted   a restart is counted
//	Scheduled   every pod of the first attempt has a node
//	Runs        all replicas of an attempt run
//	Recovered   the replicas that a restart stopped run again
//	Finished    the job has its verdict
//
// pkg/operator/journal renders the list as lines of the log, and pkg/operator/metrics as observations. Each transition appears exactly once, because each
// status is written exactly once.
package history
