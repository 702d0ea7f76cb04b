package nodes_test

import (
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

const second = time.Second

var pytorch = builder.Framework(v1alpha1.PyTorch)

func at(d time.Duration) time.Time { return builder.Epoch.Add(d) }
