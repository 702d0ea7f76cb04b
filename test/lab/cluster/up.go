// Package cluster makes, grows and ends a lab: a Kubernetes control plane of real
// components with fake GPU nodes and, if asked for, real ones, all of it processes of this machine.
//
// Up, in order: folder, network, credentials and files; etcd and the API server; all CRDs, those of the
// add-ons and peers too; controller manager, scheduler, kwok, DNS; nodes; add-ons; the operator. Each is waited
// for. Real nodes boot meanwhile. What is started is in lab.json before that, so that Down finds it whatever happens to Up,
// and when a step fails Up ends all that it has started but leaves the folder, with the logs.
//
// The CRDs come first because the garbage collector and the quota controller ask what there is
// when they start, and then every 30 s only: until then they would do nothing for a TrainingJob.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/test/lab/process"
)

// Options are what the user of lab up chooses.
type Options struct {
	Dir   string
	Nodes int
	GPUs  int
	// CRDs are files or folders with CustomResourceDefinitions.
	CRDs []string
	// With names the add-ons: other schedulers and Kueue.
	With []string
	// Peers names controllers of training jobs by others, to be installed; StartPeer starts them.
	Peers []string
	// Operator is the operator's binary; empty for a lab without one.
	Operator     string
	OperatorArgs []string
	// OperatorManifests is a folder with a kustomization whose service account and roles are the operator's; empty for an
	// administrator's rights.
	OperatorManifests string
	// ControlPlane is a folder with kube-apiserver, kube-controller-manager and kube-scheduler of another version of Kubernetes; empty for
	// those that this binary is.
	ControlPlane string
	// Kubelet is the program of a kubelet of another version, for the real nodes; empty for this binary's.
	Kubelet string
	// WithoutNativeGangs leaves Kubernetes' own gangs off, as they are by default.
	WithoutNativeGangs bool
	// NodeMonitorGracePeriod is how long a silent node stays Ready; 0 for Kubernetes' own.
	NodeMonitorGracePeriod time.Duration
	// PodsReadyTimeout is how long Kueue lets an admitted job take until it runs; 0 for ever.
	PodsReadyTimeout time.Duration
	// Real is the number of real nodes, RealGPUs how many GPUs each claims to have, and Images are archives to import into them.
	Real     int
	RealGPUs int
	Images   []string
}

// lab is a lab in the making.
type lab struct {
	Options
	dir   Dir
	state State
	token string
	out   io.Writer
	begin time.Time
	// counted are the quotas' names for the objects of the CRDs: count/trainingjobs.trainingjob.dev.
	counted []corev1.ResourceName
	// kueueWebhookPort is known before Kueue starts: its CRDs name it.
	kueueWebhookPort int32
	// adapterMetrics is the URL of the metrics of Kueue's adapter; empty without one.
	adapterMetrics string
	// booted are the first processes of the real nodes.
	booted []*process.Child
}

// Up starts a lab and returns once all of it is ready. On error nothing is left running.
func Up(ctx context.Context, options Options, out io.Writer) error {
	if err := options.check(); err != nil {
		return err
	}
	dir, err := NewDir(options.Dir)
	if err != nil {
		return err
	}
	if err := dir.prepare(); err != nil {
		return err
	}
	l := &lab{Options: options, dir: dir, out: out, begin: time.Now()}
	if err := l.up(ctx); err != nil {
		return l.giveUp(err)
	}
	return nil
}

// check finds at once what would otherwise fail after a minute.
func (o Options) check() error {
	if o.Nodes < 0 || o.GPUs < 0 {
		return fmt.Errorf("--nodes %d and --gpus %d must not be negative", o.Nodes, o.GPUs)
	}
	if err := errors.Join(o.checkReal(), o.checkControlPlane()); err != nil {
		return err
	}
	for _, path := range o.CRDs {
		if _, err := readCRDs(path); err != nil {
			return err
		}
	}
	chosen, err := o.withAddons()
	if err != nil {
		return err
	}
	for _, a := range chosen {
		if _, err := a.program(); err != nil {
			return err
		}
	}
	if err := o.checkPeers(); err != nil {
		return err
	}
	if o.OperatorManifests != "" {
		if _, err := os.Stat(filepath.Join(o.OperatorManifests, "kustomization.yaml")); err != nil {
			return fmt.Errorf("looking for the operator's manifests: %w", err)
		}
	}
	return o.checkOperator()
}

func (o Options) checkOperator() error {
	if o.Operator == "" {
		return nil
	}
	if info, err := os.Stat(o.Operator); err != nil {
		return fmt.Errorf("looking for the operator: %w", err)
	} else if info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("the operator %s is not an executable file", o.Operator)
	}
	return nil
}

func (l *lab) up(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		l.begun, l.startAPIServer, l.bootReal, l.installCRDs, l.installPeers, l.startControllers, l.startDNS, l.createNodes, l.awaitReal, l.startAddons,
		l.startOperator, l.done,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// begun claims the folder and fills it.
func (l *lab) begun(ctx context.Context) (err error) {
	self, err := process.Self("lab up")
	if err != nil {
		return err
	}
	if l.state.Ports, err = freePorts(); err != nil {
		return err
	}
	l.state.GPUs, l.state.NodeMonitorGracePeriod, l.state.Up = l.GPUs, l.NodeMonitorGracePeriod, &self
	l.state.WithoutNativeGangs, l.state.Peers = l.WithoutNativeGangs, l.Peers
	if err := l.dir.writeState(l.state); err != nil {
		return err
	}
	if err := l.prepareReal(ctx); err != nil {
		return err
	}
	if l.token, err = l.dir.writeCredentials(l.state); err != nil {
		return err
	}
	if err := l.dir.addRealCredentials(l.state); err != nil {
		return err
	}
	return l.dir.writeFiles(l.ControlPlane)
}

func (l *lab) startAPIServer(ctx context.Context) error {
	return l.startAll(ctx, controlPlane(l.dir, l.state, l.token)[:withAPIServer]...)
}

// startControllers starts the rest of the control plane and waits until it minds what the CRDs define.
func (l *lab) startControllers(ctx context.Context) error {
	if err := l.startAll(ctx, controlPlane(l.dir, l.state, l.token)[withAPIServer:]...); err != nil {
		return err
	}
	return l.waitForControllers(ctx)
}

func (l *lab) startAll(ctx context.Context, components ...component) error {
	for _, c := range components {
		if err := l.start(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// start starts a component and waits until it is healthy.
func (l *lab) start(ctx context.Context, c component) error {
	child, err := process.Start(c.Program)
	if err != nil {
		return err
	}
	l.state.Processes = append(l.state.Processes, child.Process)
	if err := l.dir.writeState(l.state); err != nil {
		return err
	}
	if err := child.WaitHealthy(ctx, c.health); err != nil {
		return err
	}
	l.say("%s is ready (pid %d)", c.Name, child.PID)
	return nil
}

// giveUp ends what was started and returns the reason for that.
func (l *lab) giveUp(reason error) error {
	if len(l.state.Processes) == 0 && l.state.Real == nil {
		return reason
	}
	l.say("giving up, ending what was started")
	if err := errors.Join(stopAll(l.state.Processes, func(process.Process) {}), l.state.releaseReal()); err != nil {
		return fmt.Errorf("%w\n(and while giving up: %w)", reason, err)
	}
	return fmt.Errorf("%w\n(the logs are in %s)", reason, l.dir)
}

// say prints a line of progress with the time since the start.
func (l *lab) say(format string, args ...any) {
	fmt.Fprintf(l.out, "%5.1fs  %s\n", time.Since(l.begin).Seconds(), fmt.Sprintf(format, args...))
}
