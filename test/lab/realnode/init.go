package realnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const containerdSocket = "/run/containerd/containerd.sock"

// Init is the first process of the node whose folder it gets; it returns when the node is to end.
func Init(ctx context.Context, dir string) error {
	if os.Getpid() != 1 {
		return fmt.Errorf("%s is the first process of a node of the lab, started by lab up; it is no command for a shell", InitCommand)
	}
	node, err := Read(dir)
	if err != nil {
		return err
	}
	if err := enterCgroup(node.Cgroup); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(node.Name)); err != nil {
		return fmt.Errorf("naming the node: %w", err)
	}
	if err := node.changeRoot(); err != nil {
		return err
	}
	if err := node.Block.Setup(node.Index, node.Nodes); err != nil {
		return err
	}
	return node.supervise(ctx)
}

// daemon is a program that init starts, and starts again when it ends.
type daemon struct {
	name, path string
	args       []string
	// ready returns once the daemons after this one may start.
	ready func(context.Context) error
	pid   int
}

func (n Node) daemons() []*daemon {
	return []*daemon{
		{
			name: "containerd", path: "/opt/node/usr/bin/containerd", args: []string{"--config=/etc/containerd.toml"},
			ready: awaitContainerd,
		},
		{
			name: "kubelet", path: "/opt/lab/kubelet", args: []string{
				"--config=/etc/kubernetes/kubelet.yaml", "--kubeconfig=/etc/kubernetes/kubeconfig", "--root-dir=/var/lib/kubelet",
				"--hostname-override=" + n.Name, "--node-ip=" + n.Block.Node(n.Index).String(), "--node-labels=" + RealLabel + "=true", "--v=2",
			},
			ready: func(context.Context) error { return nil },
		},
	}
}

// RealLabel is on the real nodes, for pods that are to run.
const RealLabel = "lab.trainingjob.dev/real"

// supervise starts the daemons, collects every process that ends, and starts again daemons that do.
func (n Node) supervise(ctx context.Context) error {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	daemons := n.daemons()
	for _, d := range daemons {
		if err := d.start(); err != nil {
			return err
		}
		if err := d.ready(ctx); err != nil {
			return err
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ended:
		}
		for _, pid := range collect() {
			for _, d := range daemons {
				if d.pid != pid {
					continue
				}
				fmt.Printf("%s has ended (process %d): starting it again; its log is /var/log/%s.log\n", d.name, pid, d.name)
				time.Sleep(time.Second) // as long as systemd would wait at most
				if err := d.start(); err != nil {
					return err
				}
			}
		}
	}
}

// collect returns the processes that have ended: daemons, and orphans, which the kernel gives to process 1.
func collect() []int {
	var pids []int
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return pids
		}
		pids = append(pids, pid)
	}
}

// start does not use os/exec, whose Wait would wait for what collect has collected.
func (d *daemon) start() error {
	log, err := os.OpenFile(filepath.Join("/var/log", d.name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", d.name, err)
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	started, err := os.StartProcess(d.path, append([]string{d.name}, d.args...), &os.ProcAttr{
		Dir:   "/",
		Env:   []string{"PATH=/opt/node/usr/sbin:/opt/node/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"},
		Files: []*os.File{null, log, log},
	})
	if err != nil {
		return fmt.Errorf("starting %s: %w", d.name, err)
	}
	d.pid = started.Pid
	return started.Release()
}

// awaitContainerd waits until containerd takes calls: a kubelet that finds nobody there ends.
func awaitContainerd(ctx context.Context) error {
	for end := time.Now().Add(time.Minute); ; {
		connection, err := net.Dial("unix", containerdSocket)
		if err == nil {
			return connection.Close()
		}
		if time.Now().After(end) {
			return fmt.Errorf("containerd does not answer: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
