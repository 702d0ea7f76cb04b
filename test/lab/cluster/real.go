package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/trainingjob/operator/test/lab/archive"
	"github.com/trainingjob/operator/test/lab/debian"
	"github.com/trainingjob/operator/test/lab/network"
	"github.com/trainingjob/operator/test/lab/process"
	"github.com/trainingjob/operator/test/lab/realnode"
)

const realPrefix = "real-"

// Real is what a lab with real nodes has beside fake ones.
type Real struct {
	Nodes int `json:"nodes"`
	// GPUs is how many each has, which no device stands for.
	GPUs int `json:"gpus,omitempty"`
	// Kubelet is the program of their kubelets, if it is of another version than this binary's.
	Kubelet string `json:"kubelet,omitempty"`
	// HardwareAddr is that of the lab's bridge: it says which one is ours.
	HardwareAddr string `json:"hardwareAddr"`
	// Block has the lab's addresses.
	Block network.Block `json:"block"`
}

// programsOfReal are what make builds for real nodes beside this binary: make real.
var programsOfReal = []string{"coredns", "pause", "trainer"}

// standIns are the images that real nodes have from the beginning, by their programs.
var standIns = map[string]string{"pause": "lab.local/pause:1", "trainer": "lab.local/trainer:1"}

// beside returns a file in the folder of this binary.
func beside(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	return filepath.Join(filepath.Dir(self), name), nil
}

// checkKubelet finds a program that is missing.
func (o Options) checkKubelet() error {
	if _, err := os.Stat(o.Kubelet); o.Kubelet != "" && err != nil {
		return fmt.Errorf("looking for the program of --kubelet (make bin/versions/1.35/kubelet builds one): %w", err)
	}
	return nil
}

// checkReal finds out, before anything is touched, whether the machine can have real nodes.
func (o Options) checkReal() error {
	if o.Real < 0 || o.Real > network.MaxNodes || o.RealGPUs < 0 {
		return fmt.Errorf("--real %d with --real-gpus %d: there can be 0 to %d real nodes, with 0 GPUs or more", o.Real, o.RealGPUs, network.MaxNodes)
	}
	if o.Real == 0 {
		if len(o.Images) > 0 || o.Kubelet != "" {
			return errors.New("--image and --kubelet are for real nodes: fake ones run nothing (add --real 2)")
		}
		return nil
	}
	if err := errors.Join(realnode.Check(), o.checkKubelet()); err != nil {
		return err
	}
	packages, err := packages()
	if err != nil {
		return err
	}
	if err := packages.Check(); err != nil {
		return err
	}
	if err := checkPrograms(); err != nil {
		return err
	}
	for _, path := range o.Images {
		if _, err := archive.Read(path); err != nil {
			return err
		}
	}
	return nil
}

// checkPrograms returns an error if make has not built what real nodes need.
func checkPrograms() error {
	for _, name := range programsOfReal {
		path, err := beside(name)
		if err != nil {
			return err
		}
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("looking for a program of real nodes: %w (make real makes it)", err)
		}
	}
	return nil
}

// packages is where the Debian packages are, for all labs of this binary.
func packages() (debian.Cache, error) {
	path, err := beside("debian")
	return debian.Cache(path), err
}

// prepareReal fetches the packages and claims a block of addresses.
func (l *lab) prepareReal(ctx context.Context) error {
	if l.Real == 0 {
		return nil
	}
	packages, err := packages()
	if err != nil {
		return err
	}
	versions, err := packages.Fetch(ctx, l.say)
	if err != nil {
		return err
	}
	kubelet, err := absolute(l.Kubelet)
	if err != nil {
		return err
	}
	l.say("real nodes run %s and the packages %s", cmp.Or(kubelet, "kubelet 1.37.1"), versions)
	l.state.Real = &Real{Nodes: l.Real, GPUs: l.RealGPUs, Kubelet: kubelet, HardwareAddr: network.NewHardwareAddr()}
	if err := l.dir.writeState(l.state); err != nil {
		return err
	}
	if l.state.Real.Block, err = network.Claim(l.state.Real.HardwareAddr); err != nil {
		return err
	}
	l.say("the lab's addresses are %s", l.state.Real.Block.Whole())
	return l.dir.writeState(l.state)
}

// apiServerHost is the address that the API server listens on.
func (s State) apiServerHost() string {
	if s.Real == nil {
		return "127.0.0.1"
	}
	return s.Real.Block.APIServer().String()
}

// apiServerPort is the one that the Service "kubernetes" has, if pods are to reach it.
func (s State) apiServerPort() int {
	if s.Real == nil {
		return s.Ports.APIServer
	}
	return 443
}

func (s State) apiServer() string { return fmt.Sprintf("%s:%d", s.apiServerHost(), s.apiServerPort()) }

// realNode describes node i as it is to be booted.
func (d Dir) realNode(i int, state State) (realnode.Node, error) {
	packages, err := packages()
	if err != nil {
		return realnode.Node{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return realnode.Node{}, fmt.Errorf("finding this program: %w", err)
	}
	return realnode.Node{
		Name: realName(i), Index: i, Nodes: state.Real.Nodes, Block: state.Real.Block, Dir: d.realDir(i),
		Cgroup:       state.Real.cgroup(i),
		Packages:     packages.Root(),
		Lab:          self,
		Kubelet:      state.Real.Kubelet,
		Shared:       d.file("shared"),
		LeaseSeconds: leaseSeconds(state.NodeMonitorGracePeriod),
		BootID:       string(uuid.NewUUID()),
	}, nil
}

func realName(i int) string { return fmt.Sprintf("%s%d", realPrefix, i) }

// realDir is the folder of real node i.
func (d Dir) realDir(i int) string { return d.file(realName(i)) }

// cgroup is the name of the cgroup of node i, which no other lab has.
func (r Real) cgroup(i int) string {
	return "tjlab-" + strings.ReplaceAll(r.HardwareAddr, ":", "") + "-" + realName(i)
}

// bootReal starts the real nodes, which then register themselves while the lab goes on.
func (l *lab) bootReal(context.Context) error {
	if l.state.Real == nil {
		return nil
	}
	if err := os.MkdirAll(l.dir.file("shared"), 0o777); err != nil {
		return fmt.Errorf("making the folder that nodes share: %w", err)
	}
	// Pods of any user write there, whatever this command's umask is.
	if err := os.Chmod(l.dir.file("shared"), 0o777); err != nil {
		return fmt.Errorf("making the folder that nodes share: %w", err)
	}
	for i := range l.state.Real.Nodes {
		node, err := l.dir.realNode(i, l.state)
		if err != nil {
			return err
		}
		credentials, err := l.dir.nodeCredentials(i, l.state)
		if err != nil {
			return err
		}
		if err := node.Install(credentials); err != nil {
			return err
		}
		child, err := l.boot(node)
		if err != nil {
			return err
		}
		l.booted = append(l.booted, child)
	}
	return nil
}

// boot starts a node and records it.
func (l *lab) boot(node realnode.Node) (*process.Child, error) {
	child, err := node.Boot()
	if err != nil {
		return nil, err
	}
	l.state.record(child.Process)
	return child, l.dir.writeState(l.state)
}

// awaitReal waits until the real nodes take pods, and gives them their images and GPUs.
func (l *lab) awaitReal(ctx context.Context) error {
	if l.state.Real == nil {
		return nil
	}
	if err := l.writeStandIns(); err != nil {
		return err
	}
	for i, child := range l.booted {
		if err := l.awaitNode(ctx, i, child); err != nil {
			return err
		}
	}
	for _, path := range append(l.standInFiles(), l.Images...) {
		if err := importImage(ctx, l.dir, l.state, path, l.say); err != nil {
			return err
		}
	}
	l.say("real nodes are ready: %d", l.state.Real.Nodes)
	return nil
}

// awaitNode waits until a node that boots works, and the scheduler may use it.
func (l *lab) awaitNode(ctx context.Context, i int, child *process.Child) error {
	node, err := realnode.Read(l.dir.realDir(i))
	if err != nil {
		return err
	}
	if err := child.WaitHealthy(ctx, process.Health{URL: node.HealthURL(), Within: startTime}); err != nil {
		return fmt.Errorf("%w\n(the logs of its kubelet and containerd are in %s/root/var/log)", err, node.Dir)
	}
	client, err := l.dir.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := waitForRealNode(ctx, client, node); err != nil {
		return err
	}
	return setGPUs(ctx, client, node.Name, l.state.Real.GPUs)
}

// releaseReal removes what real nodes have left on the machine; their processes have ended.
func (s State) releaseReal() error {
	if s.Real == nil {
		return nil
	}
	var failures []error
	for i := range s.Real.Nodes {
		failures = append(failures, realnode.RemoveCgroup(s.Real.cgroup(i)))
	}
	return errors.Join(append(failures, network.Release(s.Real.HardwareAddr))...)
}
