package cluster

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/trainingjob/operator/test/lab/process"
)

// peer is a controller of training jobs by others. lab up --peer installs it, and lab peer start and stop run it, so that it can be measured
// while no other peer costs the cluster anything.
type peer struct {
	name string
	peerProgram
}

type peerProgram interface {
	// install applies what a cluster has before the peer runs; the controllers of Kubernetes are not up yet.
	install(context.Context, *lab, program) error
	// start starts the peer at a speed, with further arguments, and waits until it is ready.
	start(context.Context, *lab, program, Speed, []string) error
	// stop takes away what must not stay when the peer's processes have ended.
	stop(context.Context, *lab) error
	// processes are the names of its processes.
	processes() []string
}

// Speed is how a peer is set: as its own manifests or flags have it, or as fast as it can be set.
type Speed string

// The speeds.
const (
	Shipped Speed = "shipped"
	Tuned   Speed = "tuned"
)

func peers() []peer {
	var all []peer
	for _, p := range manifestPeers() {
		all = append(all, peer{p.name, p})
	}
	return append(all, peer{"volcano", volcanoPeer{}})
}

// PeerNames are those that Options.Peers may hold.
func PeerNames() []string {
	var names []string
	for _, p := range peers() {
		names = append(names, p.name)
	}
	return names
}

func peerNamed(name string) (peer, error) {
	all := peers()
	at := slices.IndexFunc(all, func(p peer) bool { return p.name == name })
	if at < 0 {
		return peer{}, fmt.Errorf("peer %q: there is %s", name, strings.Join(PeerNames(), ", "))
	}
	return all[at], nil
}

// program is the peer as make peers has built it. Volcano is an add-on, too.
func (p peer) program() (program, error) {
	if p.name == "volcano" {
		return built("--peer", p.name)
	}
	return built("--peer", "peers/"+p.name)
}

// checkPeers finds at once what would otherwise fail after some seconds.
func (o Options) checkPeers() error {
	for _, name := range o.Peers {
		p, err := peerNamed(name)
		if err != nil {
			return err
		}
		if _, err := p.program(); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) installPeers(ctx context.Context) error {
	for _, name := range l.Peers {
		p, err := peerNamed(name)
		if err != nil {
			return err
		}
		program, err := p.program()
		if err != nil {
			return err
		}
		if err := p.install(ctx, l, program); err != nil {
			return fmt.Errorf("installing %s: %w", name, err)
		}
	}
	return nil
}

// PeerOptions are how a peer runs.
type PeerOptions struct {
	Speed Speed
	// Args are further arguments of its program.
	Args []string
}

// StartPeer starts a peer that was installed in the lab in the folder; it is no error if it runs already, at whatever speed.
func StartPeer(ctx context.Context, path, name string, options PeerOptions, out io.Writer) error {
	l, p, err := labWithPeer(path, name, out)
	if err != nil {
		return err
	}
	if speed := options.Speed; speed != Shipped && speed != Tuned {
		return fmt.Errorf("--speed %q: write %s or %s", speed, Shipped, Tuned)
	}
	if slices.ContainsFunc(l.state.Processes, func(r process.Process) bool { return slices.Contains(p.processes(), r.Name) && r.Alive() }) {
		l.say("%s runs already", name)
		return nil
	}
	program, err := p.program()
	if err != nil {
		return err
	}
	return p.start(ctx, l, program, options.Speed, options.Args)
}

// StopPeer ends a peer of the lab in the folder; it is no error if it does not run.
func StopPeer(ctx context.Context, path, name string, out io.Writer) error {
	l, p, err := labWithPeer(path, name, out)
	if err != nil {
		return err
	}
	if err := p.stop(ctx, l); err != nil {
		return err
	}
	mine := func(r process.Process) bool { return slices.Contains(p.processes(), r.Name) }
	for _, r := range l.state.Processes {
		if mine(r) {
			if err := r.Stop(); err != nil {
				return err
			}
			l.say("%s ended (pid %d)", r.Name, r.PID)
		}
	}
	l.state.Processes = slices.DeleteFunc(l.state.Processes, mine)
	return l.dir.writeState(l.state)
}

func labWithPeer(path, name string, out io.Writer) (*lab, peer, error) {
	dir, state, err := runningLab(path)
	if err != nil {
		return nil, peer{}, err
	}
	p, err := peerNamed(name)
	if err != nil {
		return nil, peer{}, err
	}
	if !slices.Contains(state.Peers, name) {
		return nil, peer{}, fmt.Errorf("%s is not installed in the lab in %s: start one with lab up --peer %s", name, dir, name)
	}
	return &lab{dir: dir, state: state, out: out, begin: time.Now()}, p, nil
}
