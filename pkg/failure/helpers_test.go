package failure_test

import (
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

const (
	second = time.Second
	node1  = "node-worker-1" // that of worker-1
)

type rule = v1alpha1.RecoveryRule

var (
	pytorch    = builder.Framework(v1alpha1.PyTorch)
	tensorflow = builder.Framework(v1alpha1.TensorFlow)
)

func seen(options ...builder.SnapshotOption) []builder.SnapshotOption { return options }
