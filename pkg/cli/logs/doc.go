// Package logs reads the logs of all replicas of a job as one: merged by time, without losing or repeating a line.
//
//  1. Choose selects the pods to read. With Follow, pods that come later count too.
//  2. A reader for each pod waits until its container has run, reads its log to the end, and resumes where it broke off.
//  3. Merger puts the lines of all readers in the order of their times.
//
// A Cursor knows where a log broke off: the time of the last line, and how many lines of that time were read. The kubelet gives every line
// a time in nanoseconds and writes them in order, so the same line is found again; a request begins with the whole second before it. A line
// that a broken connection cut off does not count as read.
//
// A log was read to its end if the status showed, before it was opened, that the container had ended, and two readings then ended at the
// same place without an error. Any other end of a stream is resumed.
package logs
