package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"os"

	"github.com/trainingjob/operator/test/lab/process"
)

//go:embed coscheduling.yaml
var coschedulingConfig string

// startCoscheduling starts scheduler-plugins' scheduler, for pods with schedulerName scheduler-plugins-scheduler,
// and its controller, which writes the status of PodGroups.
func (l *lab) startCoscheduling(ctx context.Context, program program) error {
	ports, err := l.state.Ports.more(3)
	if err != nil {
		return err
	}
	config := l.dir.file("coscheduling.yaml")
	if err := os.WriteFile(config, []byte(os.Expand(coschedulingConfig, func(string) string { return l.dir.kubeconfig() })), 0o644); err != nil {
		return fmt.Errorf("writing the configuration of coscheduling: %w", err)
	}
	scheduler := l.addonProcess("coscheduling", program.binary, "https://"+local(ports[0])+"/readyz", []string{
		"scheduler", "--config=" + config, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]),
		// The plug-in wakes a refused gang for new pods and for changed PodGroups, not for freed or new nodes;
		// after this time the scheduler itself does (five minutes by default).
		"--pod-max-in-unschedulable-pods-duration=5s",
	})
	controller := l.addonProcess("coscheduling-controller", program.binary, "http://"+local(ports[1])+"/readyz", []string{
		"controller", "--kubeconfig=" + l.dir.kubeconfig(),
		"--probeAddr=" + local(ports[1]), "--metricsAddr=" + local(ports[2]), "--qps=500", "--burst=1000",
	})
	return l.startAll(ctx, scheduler, controller)
}

// addonProcess is a process of an add-on, with its log in the lab's folder.
func (l *lab) addonProcess(name, binary, healthURL string, args []string) component {
	return component{
		Program: process.Program{Name: name, Path: binary, Args: args, Log: l.dir.file(name + ".log")},
		health:  process.Health{URL: healthURL, Within: startTime},
	}
}
