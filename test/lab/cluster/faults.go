package cluster

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trainingjob/operator/test/lab/process"
	"github.com/trainingjob/operator/test/lab/realnode"
)

// NodeFault does something to a real node of a lab.
type NodeFault struct {
	Name, Short, Long string
	do                func(*victim, context.Context) error
}

// NodeFaults are the commands of lab node, in the order of its help.
func NodeFaults() []NodeFault {
	return []NodeFault{
		{"kill", "Kill a real node, as a loss of power does", `kill ends every process of the node at once, kubelet and containers alike; its peers' connections break. Its disk
stays. The whole machine may stand still for some seconds while the kernel takes the node apart.`, (*victim).kill},
		{"boot", "Boot a real node that was killed", `boot starts a killed node again, with its disk: images, and what kubelet and containerd had written down.`, (*victim).boot},
		{"reboot", "Kill a real node and boot it again", `reboot kills the node and boots it at once: it is back before Kubernetes takes it for lost, and the kubelet finds the
containers of its former life ended for a reason that it does not know.`, (*victim).reboot},
		{"cut", "Cut a real node's link", `cut switches the node's link off: its pods go on, but nothing reaches them, and the node gets NotReady.`, (*victim).cut},
		{"heal", "Heal a real node's link", `heal switches the link on that cut has switched off.`, (*victim).heal},
		{"freeze", "Stop all processes of a real node", `freeze stops every process of the node (SIGSTOP), as a machine stands still that swaps: connections to it stay open.`, (*victim).freeze},
		{"thaw", "Let a frozen real node go on", `thaw lets the processes go on that freeze has stopped.`, (*victim).thaw},
		{"kill-kubelet", "Kill a real node's kubelet", `kill-kubelet kills the kubelet alone (SIGKILL). Containers run on; after a second it is started again, as by systemd.`, (*victim).killKubelet},
	}
}

// Do does it to the real node of that name, in the lab in a folder.
func (f NodeFault) Do(ctx context.Context, path, name string, out io.Writer) error {
	begin := time.Now()
	hit, err := newVictim(path, name, out)
	if err != nil {
		return err
	}
	if err := f.do(hit, ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s %s: done in %.1f s\n", f.Name, name, time.Since(begin).Seconds())
	return nil
}

// victim is a real node that something is done to.
type victim struct {
	lab   lab
	index int
	node  realnode.Node
}

func newVictim(path, name string, out io.Writer) (*victim, error) {
	dir, state, err := runningLab(path)
	if err != nil {
		return nil, err
	}
	i, err := state.realIndex(name)
	if err != nil {
		return nil, err
	}
	node, err := dir.realNode(i, state)
	if err != nil {
		return nil, err
	}
	return &victim{lab: lab{dir: dir, state: state, out: out, begin: time.Now()}, index: i, node: node}, nil
}

// realIndex is the i of real-i.
func (s State) realIndex(name string) (int, error) {
	var names []string
	if s.Real != nil {
		for i := range s.Real.Nodes {
			if names = append(names, realName(i)); names[i] == name {
				return i, nil
			}
		}
	}
	if len(names) == 0 {
		return 0, fmt.Errorf("%s is no real node: the lab has none (start one with lab up --real 2); fake nodes die by the annotation %s", name, deadLabel)
	}
	return 0, fmt.Errorf("%s is no real node of this lab: choose one of %s", name, strings.Join(names, ", "))
}

// running is the node's first process.
func (v *victim) running() (process.Process, error) {
	found, ok := v.lab.state.process(v.node.Name)
	if !ok || !found.Alive() {
		return process.Process{}, fmt.Errorf("node %s is down; boot it first: lab node boot %s", v.node.Name, v.node.Name)
	}
	return found, nil
}

func (v *victim) kill(context.Context) error {
	found, err := v.running()
	if err != nil {
		return err
	}
	return found.Kill()
}

func (v *victim) boot(ctx context.Context) error {
	if _, err := v.running(); err == nil {
		return fmt.Errorf("node %s runs already", v.node.Name)
	}
	child, err := v.lab.boot(v.node)
	if err != nil {
		return err
	}
	return v.lab.awaitNode(ctx, v.index, child)
}

func (v *victim) reboot(ctx context.Context) error {
	if err := v.kill(ctx); err != nil {
		return err
	}
	return v.boot(ctx)
}

func (v *victim) cut(context.Context) error {
	if _, err := v.running(); err != nil {
		return err
	}
	return v.node.Block.Cut(v.index)
}

func (v *victim) heal(context.Context) error {
	if _, err := v.running(); err != nil {
		return err
	}
	return v.node.Block.Heal(v.index)
}

func (v *victim) freeze(context.Context) error {
	found, err := v.running()
	if err != nil {
		return err
	}
	return realnode.Freeze(found.PID)
}

func (v *victim) thaw(context.Context) error {
	found, err := v.running()
	if err != nil {
		return err
	}
	return realnode.Thaw(found.PID)
}

func (v *victim) killKubelet(context.Context) error {
	found, err := v.running()
	if err != nil {
		return err
	}
	return realnode.KillKubelet(found.PID)
}
