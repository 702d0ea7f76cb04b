//go:build frameworks

package frameworks

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// deviceName is the resource of the devices, devicesOfNode how many each node has: more than ranks, so that a broken one can be left.
	deviceName    = "example.com/gpu"
	devicesOfNode = 8
)

// devices is the device plug-in of one node. No hardware is behind its devices: it tells the kubelet which of them are healthy.
type devices struct {
	plugin.UnimplementedDevicePluginServer
	mu sync.Mutex
	// broken is the device that is not healthy; empty if all are. changed is closed when it changes.
	broken  string
	changed chan struct{}
}

// plugIns are the device plug-ins, by node.
var plugIns = map[string]*devices{}

// startDevices gives each real node a device plug-in, until the end of the specs of the container.
func startDevices(ctx SpecContext) {
	GinkgoHelper()
	var nodes corev1.NodeList
	Expect(kube.List(ctx, &nodes)).To(Succeed())
	for i := range nodes.Items {
		name := nodes.Items[i].Name
		plugIns[name] = &devices{changed: make(chan struct{})}
		DeferCleanup(plugIns[name].serve(filepath.Join(labDir, name, "root/var/lib/kubelet/device-plugins")).Stop)
	}
	Eventually(func(g Gomega) {
		g.Expect(kube.List(ctx, &nodes)).To(Succeed())
		for i := range nodes.Items {
			g.Expect(nodes.Items[i].Status.Allocatable).To(HaveKeyWithValue(corev1.ResourceName(deviceName), resource.MustParse(fmt.Sprint(devicesOfNode))))
		}
	}).WithTimeout(time.Minute).Should(Succeed(), "each node has devices")
}

// serve serves the plug-in to the kubelet whose folder of plug-ins that is.
func (d *devices) serve(folder string) *grpc.Server {
	GinkgoHelper()
	const socket = "stand-in.sock"
	listener, err := net.Listen("unix", filepath.Join(folder, socket))
	Expect(err).NotTo(HaveOccurred())
	server := grpc.NewServer()
	plugin.RegisterDevicePluginServer(server, d)
	go func() { _ = server.Serve(listener) }()
	connection, err := grpc.NewClient("unix://"+filepath.Join(folder, "kubelet.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	Expect(err).NotTo(HaveOccurred())
	defer connection.Close()
	_, err = plugin.NewRegistrationClient(connection).Register(context.Background(), &plugin.RegisterRequest{Version: plugin.Version, Endpoint: socket, ResourceName: deviceName})
	Expect(err).NotTo(HaveOccurred())
	return server
}

// setBroken makes the device unhealthy, and all others healthy.
func (d *devices) setBroken(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = id
	close(d.changed)
	d.changed = make(chan struct{})
}

// list returns the devices as they are, and a channel that is closed when they change.
func (d *devices) list() (*plugin.ListAndWatchResponse, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := &plugin.ListAndWatchResponse{}
	for i := range devicesOfNode {
		device := &plugin.Device{ID: fmt.Sprintf("device-%d", i), Health: plugin.Healthy}
		if device.ID == d.broken {
			device.Health = plugin.Unhealthy
		}
		all.Devices = append(all.Devices, device)
	}
	return all, d.changed
}

// GetDevicePluginOptions implements plugin.DevicePluginServer.
func (d *devices) GetDevicePluginOptions(context.Context, *plugin.Empty) (*plugin.DevicePluginOptions, error) {
	return &plugin.DevicePluginOptions{}, nil
}

// ListAndWatch implements plugin.DevicePluginServer.
func (d *devices) ListAndWatch(_ *plugin.Empty, stream grpc.ServerStreamingServer[plugin.ListAndWatchResponse]) error {
	for {
		all, changed := d.list()
		if err := stream.Send(all); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return nil
		}
	}
}

// Allocate implements plugin.DevicePluginServer. A container gets nothing of a device.
func (d *devices) Allocate(_ context.Context, request *plugin.AllocateRequest) (*plugin.AllocateResponse, error) {
	answer := &plugin.AllocateResponse{}
	for range request.ContainerRequests {
		answer.ContainerResponses = append(answer.ContainerResponses, &plugin.ContainerAllocateResponse{})
	}
	return answer, nil
}

// eachRankHasADevice requests a device for each rank.
func (r *run) eachRankHasADevice() {
	r.eachContainer(func(c *corev1.Container) {
		c.Resources.Limits[deviceName] = resource.MustParse("1")
	})
}

// breakDevice makes the device of the pod unhealthy, and its rank fails with an exception, as CUDA's ranks do.
func (r *run) breakDevice(pod *corev1.Pod) {
	GinkgoHelper()
	Expect(kube.Get(r.ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	resources := pod.Status.ContainerStatuses[0].AllocatedResourcesStatus
	Expect(resources).To(HaveLen(1), "the kubelet shows the devices of %s", pod.Name)
	plugIns[pod.Spec.NodeName].setBroken(string(resources[0].Resources[0].ResourceID))
	raises.end(r, pod)
}

// mendDevice makes all devices of the pod's node healthy.
func (*run) mendDevice(pod *corev1.Pod) { plugIns[pod.Spec.NodeName].setBroken("") }
