package realnode

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Runtime is the containerd of a node that runs, as seen from this machine.
type Runtime struct {
	node Node
	init int
	conn *grpc.ClientConn
}

// Runtime connects to the containerd of the node, whose first process has the given id.
func (n Node) Runtime(init int) (*Runtime, error) {
	runtime := &Runtime{node: n, init: init}
	conn, err := grpc.NewClient("unix://"+runtime.socket(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("connecting to the containerd of %s: %w", n.Name, err)
	}
	runtime.conn = conn
	return runtime, nil
}

// Close ends the connection.
func (r *Runtime) Close() error { return r.conn.Close() }

// socket leads through the node's own mounts.
func (r *Runtime) socket() string { return fmt.Sprintf("/proc/%d/root%s", r.init, containerdSocket) }

// ImageID is the digest of the configuration of the image that the node has under a name; empty if it has none.
func (r *Runtime) ImageID(ctx context.Context, name string) (string, error) {
	answer, err := cri.NewImageServiceClient(r.conn).ImageStatus(ctx,
		&cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: name}}, grpc.WaitForReady(true))
	if err != nil {
		return "", fmt.Errorf("asking %s for image %s: %w", r.node.Name, name, err)
	}
	return answer.GetImage().GetId(), nil
}

// Remove removes the image that the node has under a name, and all its other names. Containers of it run on.
func (r *Runtime) Remove(ctx context.Context, name string) error {
	id, err := r.ImageID(ctx, name)
	if err != nil {
		return err
	}
	if id == "" {
		return fmt.Errorf("%s has no image %s", r.node.Name, name)
	}
	if _, err := cri.NewImageServiceClient(r.conn).RemoveImage(ctx, &cri.RemoveImageRequest{Image: &cri.ImageSpec{Image: id}}); err != nil {
		return fmt.Errorf("removing image %s from %s: %w", name, r.node.Name, err)
	}
	return nil
}

// Import loads an image archive. Its images are known by their digests as well, as those are that come from a registry.
func (r *Runtime) Import(ctx context.Context, archive string) error {
	if _, err := r.images(ctx, "import", archive); err != nil {
		return fmt.Errorf("importing %s into %s: %w", archive, r.node.Name, err)
	}
	list, err := r.images(ctx, "list")
	if err != nil {
		return fmt.Errorf("listing the images of %s: %w", r.node.Name, err)
	}
	for line := range strings.Lines(list) { // REF TYPE DIGEST SIZE ...
		columns := strings.Fields(line)
		if len(columns) < 3 || !strings.HasPrefix(columns[2], "sha256:") || strings.Contains(columns[0], "sha256:") {
			continue
		}
		byDigest := columns[0][:strings.LastIndex(columns[0], ":")] + "@" + columns[2]
		if _, err := r.images(ctx, "tag", "--force", columns[0], byDigest); err != nil {
			return fmt.Errorf("naming image %s of %s by its digest: %w", columns[0], r.node.Name, err)
		}
	}
	return nil
}

// images runs a command of containerd's on the node's images and returns what it says.
func (r *Runtime) images(ctx context.Context, arguments ...string) (string, error) {
	ctr := exec.CommandContext(ctx, filepath.Join(r.node.Packages, "usr/bin/ctr"),
		append([]string{"--address", r.socket(), "--namespace", "k8s.io", "images"}, arguments...)...)
	said, err := ctr.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, said)
	}
	return string(said), nil
}

// Signal sends a signal to the main process of a container, whose id is that of the pod's status without "containerd://". It returns
// the process's id on this machine.
func (r *Runtime) Signal(ctx context.Context, container string, signal unix.Signal) (int, error) {
	answer, err := cri.NewRuntimeServiceClient(r.conn).ContainerStatus(ctx,
		&cri.ContainerStatusRequest{ContainerId: container, Verbose: true})
	if err != nil {
		return 0, fmt.Errorf("asking %s for container %s: %w", r.node.Name, container, err)
	}
	var info struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal([]byte(answer.GetInfo()["info"]), &info); err != nil || info.PID == 0 {
		return 0, fmt.Errorf("containerd of %s names no process of container %s (it runs no more)", r.node.Name, container)
	}
	pid, err := onMachine(r.init, info.PID)
	if err != nil {
		return 0, err
	}
	if err := unix.Kill(pid, signal); err != nil {
		return 0, fmt.Errorf("sending %s to process %d: %w", unix.SignalName(signal), pid, err)
	}
	return pid, nil
}
