// Package outage keeps a program in place while its API server does not answer.
//
//	start ──> Wait ──the API server is ready──> the manager runs
//	            ^                                     │
//	            └── the container restarts <── Start: no answer for longer than patience
//
// A program that ends at once without an API server is put into the kubelet's back-off, which grows to minutes. So a program waits before
// it builds anything: /healthz answers, /readyz fails and names what is missing. A leader that loses its lease still ends, because only
// the end of its process stops all of its writes. A replica that does not lead ends as well: its reflectors would try again after up to a
// minute, a new process begins within a second of the API server's return. Each replica therefore restarts at most once in an outage.
package outage
