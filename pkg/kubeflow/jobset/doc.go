// Package jobset serves the JobSets (jobset.x-k8s.io/v1alpha2) that name this operator in spec.managedBy, such as the JobSets of Trainer v2.
//
//	TrainJob ──Trainer──> JobSet ──Serve──> TrainingJob of the same name ──> pods, headless Service
//	                         │                  │
//	                         │<────mirror───────┘
//	                         └── a Service of the name spec.network.subdomain, claims of spec.volumeClaimPolicies, the time to live
//
// A replicated job that others await with dependsOn and the status Complete has a TrainingJob of its own, which comes first.
//
// JobSet's controller makes no object for such a JobSet, and its webhooks still set defaults and check. The TrainingJob decides and remembers. Its
// pods are controlled by the JobSet and have the host names, labels, annotations and variables of the pods that JobSet makes by way of Jobs. The
// status has JobSet's conditions, reasons and words.
//
// Serve and mirror are pure. The reconciler reads and writes.
package jobset
