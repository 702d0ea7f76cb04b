// Package logs reads the logs of all replicas of a job as one: merged by time, without losing or repeating a line.
//
//  1. Choose says which pods are read. With Follow, pods that come later count too.
//  2. A reader for each pod waits until its container has run, reads its log to the end, and takes it up again where it broke off.
//  3. Merger puts the lines of all readers in the order of their times.
//
// Where a log broke off is known by a Cursor: the time of the last line, and how many lines of that time were read. The kubelet
// gives every line a time of nanoseconds and writes them in order, so that the same line is found again; what it is asked for begins
// with the whole second before. A line that a broken connection cut off is not counted as read.
//
// A log has been read to its end when the status said, before it was opened, that the container had ended, and two readings then
// ended at the same place without an error. Any other end of a stream is taken up again.
//
// Decisions, newest first:
//   - While a log is followed, a source that has been silent for a moment holds up the others no more: the order is then that of
//     arrival. Without Follow the order is exact, within each node's clock.
//   - Nothing in a log says which start of the container it is of, and the status may come late. A log that goes on behind the line
//     that was read last without having it is left alone until the status tells of another start; after a few readings without that
//     the line is taken to have been put aside. If no line was read before the container was started again, and the status comes
//     late, lines may be missing or come twice.
//   - If a node's clock is set back while a stream is broken, lines may be missing or come twice: no kubelet numbers its lines.
package logs
