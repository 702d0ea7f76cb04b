// Package intake guards what the API server sends to the caches of a manager.
//
//   - A Sieve (package sieve) keeps objects that Go cannot decode out of lists and watches. Each one is logged,
//     counted, and has an Event.
//
//   - Feeds record for each cached kind when its list or watch last worked and since when it fails. A process that
//     has been blind to a kind for a minute is not ready, and its metrics say which kind.
package intake
