package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

//go:embed volcano.yaml
var volcanoConfig []byte

// startVolcano starts Volcano's scheduler, for pods with schedulerName volcano, and its controllers, which make and
// open the default queue.
func (l *lab) startVolcano(ctx context.Context, program program) error {
	return l.startVolcanoAt(ctx, program, volcanoSpeeds[Tuned])
}

// volcanoSpeed are the flags of Volcano's two programs that make it faster or slower.
type volcanoSpeed struct{ controllers, scheduler []string }

var volcanoSpeeds = map[Speed]volcanoSpeed{
	Shipped: {},
	Tuned: {
		controllers: []string{"--kube-api-qps=1000", "--kube-api-burst=2000", "--worker-threads=8"},
		scheduler:   []string{"--kube-api-qps=1000", "--kube-api-burst=2000", "--schedule-period=200ms", "--cache-dumper=false"},
	},
}

func (l *lab) startVolcanoAt(ctx context.Context, program program, speed volcanoSpeed) error {
	ports, err := l.state.Ports.more(2)
	if err != nil {
		return err
	}
	config := l.dir.file("volcano.yaml")
	if err := os.WriteFile(config, volcanoConfig, 0o644); err != nil {
		return fmt.Errorf("writing the configuration of Volcano: %w", err)
	}
	run := func(name string, port int, args ...string) component {
		return l.addonProcess("volcano-"+name, program.binary, "http://"+local(port)+"/healthz", append([]string{
			name, "--kubeconfig=" + l.dir.kubeconfig(), "--enable-healthz", "--healthz-address=" + local(port),
		}, args...))
	}
	if err := l.startAll(ctx, run("controller-manager", ports[0], speed.controllers...),
		run("scheduler", ports[1], append([]string{"--scheduler-conf=" + config}, speed.scheduler...)...)); err != nil {
		return err
	}
	return l.waitForDefaultQueue(ctx)
}

// waitForDefaultQueue waits until Volcano's default queue is open: before, its scheduler leaves every pod pending.
func (l *lab) waitForDefaultQueue(ctx context.Context) error {
	config, err := l.dir.restConfig()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client for queues: %w", err)
	}
	queues := client.Resource(schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "queues"})
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		if queue, err := queues.Get(ctx, "default", metav1.GetOptions{}); err == nil {
			if state, _, _ := unstructured.NestedString(queue.Object, "status", "state"); state == "Open" {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for Volcano's default queue to open: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
