// Package pipelines runs TrainingJobs as steps of pipelines, on the engine of Kubeflow Pipelines: the controller and the executor of Argo
// Workflows, with the real nodes of a lab. kfp 1.8 compiles the pipelines (pipelines.py). make test-pipelines runs it.
//
//	suite_test.go     the engine: Argo's controller, a store for artifacts (gofakes3, by S3), the steps' account and rights
//	workflow_test.go  one run of a pipeline, and what Argo's status has of it
//	namespace_test.go pods and jobs of the namespace
//	training_test.go  the jobs that the pipelines train
//	train_test.go     a TrainingJob by the SDK's component: outputs and logs, retries, failures
//	end_test.go       what becomes of the job when its run is stopped, terminated or deleted
//	served_test.go    a PyTorchJob that the operator serves, by Argo's resource template
//	recipe_test.go    a TrainingJob by Argo's resource template, as manifests/integrations has it
//
// local.py trains the same job in a pipeline of kfp 2, which kfp's local runner runs.
package pipelines
