package progress

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"

	"github.com/trainingjob/operator/pkg/job/state"
)

// Fence is where no page is read, whatever the spec of a job is: the operator must not be led to a service of a node, a cloud or the control plane.
type Fence struct {
	// Addresses are the addresses of the API server.
	Addresses []netip.Addr
	// NodePorts are ports that an administrator forbids on the network of nodes, beside kubernetesPorts.
	NodePorts Ports
}

// AddressOf returns the address of a pod's page. It returns an error for an address that no pod of a cluster has, and for what the fence
// forbids. state.AddressOf shows when a pod has an address.
func (f *Fence) AddressOf(pod *state.Pod) (netip.AddrPort, error) {
	if pod.Page.Address == "" {
		return netip.AddrPort{}, whyNoAddress(pod)
	}
	address, err := netip.ParseAddr(pod.Page.Address)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("the pod's address %q is no IP address", pod.Page.Address)
	}
	address = address.Unmap()
	switch {
	case !address.IsGlobalUnicast() || address.Zone() != "": // neither loopback nor link-local, multicast, broadcast or unspecified
		return netip.AddrPort{}, fmt.Errorf("the pod's address %s is not one of a network", address)
	case slices.Contains(f.Addresses, address):
		return netip.AddrPort{}, fmt.Errorf("the pod's address %s is the address of the API server", address)
	case pod.Page.Port < 1024 || pod.Page.Port > 65535:
		return netip.AddrPort{}, fmt.Errorf("the port %d of the page is not between 1024 and 65535", pod.Page.Port)
	case pod.Page.OnHost && kubernetesPorts.has(pod.Page.Port):
		return netip.AddrPort{}, fmt.Errorf("with hostNetwork the port %d of the page is one of Kubernetes: choose another progress.port", pod.Page.Port)
	case pod.Page.OnHost && f.NodePorts.has(pod.Page.Port):
		return netip.AddrPort{}, fmt.Errorf("the operator's --forbidden-page-ports forbids the port %d of the page with hostNetwork: choose another progress.port", pod.Page.Port)
	}
	return netip.AddrPortFrom(address, uint16(pod.Page.Port)), nil
}

func whyNoAddress(pod *state.Pod) error {
	if pod.Page.OnHost {
		return fmt.Errorf("with hostNetwork the page is read only while the main container runs and names the port %d in its ports, without hostIP", pod.Page.Port)
	}
	return errors.New("the pod has no address of its own")
}

// ServerAddresses returns the IP address in the URL of a server; nothing if it has a name instead.
func ServerAddresses(server string) []netip.Addr {
	parsed, err := url.Parse(server)
	if err != nil {
		return nil
	}
	address, err := netip.ParseAddr(parsed.Hostname())
	if err != nil {
		return nil
	}
	return []netip.Addr{address.Unmap()}
}
