package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/trainingjob/operator/test/lab/process"
)

const operatorName = "operator"

// startOperator starts the operator as a cluster would, except that it speaks plain HTTP to
// whoever asks for its metrics; and that it is an administrator, if no manifests say what it may do.
func (l *lab) startOperator(ctx context.Context) error {
	if l.Operator == "" {
		return nil
	}
	path, err := filepath.Abs(l.Operator)
	if err != nil {
		return fmt.Errorf("finding the operator %s: %w", l.Operator, err)
	}
	kubeconfig, err := l.grantOperator(ctx)
	if err != nil {
		return err
	}
	return l.start(ctx, component{
		Program: process.Program{
			Name: operatorName,
			Path: path,
			Args: append([]string{
				"--kubeconfig", kubeconfig,
				"--metrics-bind-address", local(l.state.Ports.OperatorMetrics),
				"--metrics-secure=false",
				"--health-probe-bind-address", local(l.state.Ports.OperatorHealth),
			}, l.OperatorArgs...),
			Log: l.dir.file(operatorName + ".log"),
		},
		health: process.Health{
			URL:    "http://" + local(l.state.Ports.OperatorHealth) + "/readyz",
			Within: 30 * time.Second,
		},
	})
}
