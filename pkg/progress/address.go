package progress

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
)

// Address returns the address of a page on a pod of that IP address. It returns an error for an address that no pod of a cluster has, and
// for the forbidden ones: the operator must not be led to a service of a node, a cloud or the control plane.
func Address(ip string, port int32, forbidden []netip.Addr) (netip.AddrPort, error) {
	if ip == "" {
		return netip.AddrPort{}, errors.New("the pod has no address of its own: leave hostNetwork out of its template")
	}
	address, err := netip.ParseAddr(ip)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("the pod's address %q is no IP address", ip)
	}
	address = address.Unmap()
	switch {
	case !address.IsGlobalUnicast() || address.Zone() != "": // neither loopback nor link-local, multicast, broadcast or unspecified
		return netip.AddrPort{}, fmt.Errorf("the pod's address %s is not one of a network", address)
	case slices.Contains(forbidden, address):
		return netip.AddrPort{}, fmt.Errorf("the pod's address %s is the address of the API server", address)
	case port < 1024 || port > 65535:
		return netip.AddrPort{}, fmt.Errorf("the port %d of the page is not between 1024 and 65535", port)
	}
	return netip.AddrPortFrom(address, uint16(port)), nil
}

// Hosts returns the IP address in the URL of a server; nothing if it has a name instead.
func Hosts(server string) []netip.Addr {
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
