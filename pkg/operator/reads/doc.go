// Package reads makes what plans want to know beside the caches: progress pages, the stacks of a hang, the Leases of nodes. The reads run beside
// the reconciles. Want names all reads of a job: what it no longer names ends. Seen returns what they have shown, and each read has
// the job reconciled again.
package reads
