// Package serve serves the jobs of Kubeflow's training operator v1: PyTorchJob, TFJob, XGBoostJob, PaddleJob and JAXJob.
//
//	Kubeflow job ──Serve──> TrainingJob of the same name ──> pods, headless Service     (pkg/operator/cluster makes them)
//	      │                        │
//	      │<────────Mirror─────────┘
//	      └── a Service per replica, the autoscaler, the time to live                   (this package makes them)
//
// The TrainingJob decides and remembers: restarts, budgets, lost nodes. Its children are controlled by the Kubeflow job, because clients of
// Kubeflow jobs walk the owners of pods. Mirror writes the TrainingJob's status into the Kubeflow job as Kubeflow's operator wrote it: the
// same conditions in the same order, reasons and messages, since users and tools compare them.
//
// Serve and Mirror are pure. The reconcilers of this package read and write.
package serve
