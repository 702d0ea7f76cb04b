package nodes_test

import (
	"time"

	"github.com/trainingjob/operator/test/builder"
)

const second = time.Second

func at(d time.Duration) time.Time { return builder.Epoch.Add(d) }
