// Package network connects the real nodes of a lab: one bridge on this machine, and for each node a pair of
// links (veth) whose other end is eth0 in the node's network namespace.
//
//	machine                           node real-0 (its own network namespace)
//	bridge tjlab0  198.18.0.1/24  ──  eth0  198.18.0.10/24  ──  cni0  198.18.8.1/24  ──  pods
//	               198.18.4.1/32  (the API server: the address of the Service "kubernetes")
//
// Each lab has a block of its own of 198.18.0.0/15, which RFC 2544 keeps for tests of networks: no address of
// this machine's world is hidden by it. Sixteen labs fit beside each other, each with up to 24 nodes.
//
// The kernel lets only one lab make the bridge of a block, so making it is the claim. The bridge's hardware
// address is the lab's own and is recorded before: Release removes a bridge by it, and never another lab's.
package network

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	blocks = 16
	// MaxNodes is how many nodes the block of a lab has addresses for.
	MaxNodes = 24
	// Link is the name of a node's own link, inside its network namespace.
	Link = "eth0"
)

// Block is the number of a lab's part of 198.18.0.0/15, from 0 to 15: 32 networks of 254 addresses.
type Block int

func (b Block) third(n int) netip.Addr {
	// 198.18.0.0 counted in networks of 256 addresses.
	network := int(b)*32 + n
	return netip.AddrFrom4([4]byte{198, byte(18 + network/256), byte(network % 256), 0})
}

func host(network netip.Addr, n int) netip.Addr {
	bytes := network.As4()
	bytes[3] = byte(n)
	return netip.AddrFrom4(bytes)
}

// Whole is all of the block.
func (b Block) Whole() netip.Prefix { return netip.PrefixFrom(b.third(0), 19) }

// Gateway is this machine's address among the nodes; the cluster's DNS answers there.
func (b Block) Gateway() netip.Addr { return host(b.third(0), 1) }

// Node is the address of node i.
func (b Block) Node(i int) netip.Addr { return host(b.third(0), 10+i) }

// Services is the range of the Services' addresses.
func (b Block) Services() netip.Prefix { return netip.PrefixFrom(b.third(4), 22) }

// APIServer is the first address of the Services, which Kubernetes gives to the Service "kubernetes". The API server
// listens on it, so pods reach it there without a kube-proxy.
func (b Block) APIServer() netip.Addr { return host(b.third(4), 1) }

// Pods is the range of the pods of node i.
func (b Block) Pods(i int) netip.Prefix { return netip.PrefixFrom(b.third(8+i), 24) }

// bridge is the name of the block's bridge.
func (b Block) bridge() string { return fmt.Sprintf("tjlab%d", int(b)) }

// port is the name of the bridge's end of the pair of links of node i.
func (b Block) port(i int) string { return fmt.Sprintf("tjlab%dn%d", int(b), i) }

// NewHardwareAddr makes up an address for a lab's bridge: locally administered, not multicast.
func NewHardwareAddr() string {
	random := make([]byte, 6)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	random[0] = random[0]&^1 | 2
	return net.HardwareAddr(random).String()
}

// Claim makes a bridge with that hardware address for the first block that is free.
func Claim(hardwareAddr string) (Block, error) {
	address, err := net.ParseMAC(hardwareAddr)
	if err != nil {
		return 0, fmt.Errorf("reading the bridge's hardware address: %w", err)
	}
	used, err := usedPrefixes()
	if err != nil {
		return 0, err
	}
	for b := Block(0); b < blocks; b++ {
		if slices.ContainsFunc(used, b.Whole().Overlaps) {
			continue
		}
		attributes := netlink.NewLinkAttrs()
		attributes.Name, attributes.HardwareAddr = b.bridge(), address
		bridge := &netlink.Bridge{LinkAttrs: attributes}
		switch err := netlink.LinkAdd(bridge); {
		case errors.Is(err, unix.EEXIST):
			continue
		case err != nil:
			return 0, fmt.Errorf("making bridge %s: %w", b.bridge(), err)
		}
		return b, b.raise(bridge)
	}
	return 0, fmt.Errorf("all %d blocks of 198.18.0.0/15 that labs with real nodes use are taken on this machine: "+
		"end such a lab first (lab down --dir ...), or look with \"ip address\" who else uses the range", blocks)
}

// usedPrefixes are those that this machine has addresses in or routes to, but for the default route.
func usedPrefixes() ([]netip.Prefix, error) {
	var used []netip.Prefix
	add := func(network *net.IPNet) {
		if network == nil {
			return
		}
		if address, ok := netip.AddrFromSlice(network.IP.To4()); ok {
			if bits, _ := network.Mask.Size(); bits > 0 {
				used = append(used, netip.PrefixFrom(address, bits))
			}
		}
	}
	addresses, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return nil, fmt.Errorf("listing this machine's addresses: %w", err)
	}
	for _, address := range addresses {
		add(address.IPNet)
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return nil, fmt.Errorf("listing this machine's routes: %w", err)
	}
	for _, route := range routes {
		add(route.Dst)
	}
	return used, nil
}

// raise gives the bridge this machine's two addresses.
func (b Block) raise(bridge netlink.Link) error {
	for _, prefix := range []netip.Prefix{netip.PrefixFrom(b.Gateway(), 24), netip.PrefixFrom(b.APIServer(), 32)} {
		if err := netlink.AddrAdd(bridge, &netlink.Addr{IPNet: ipNet(prefix)}); err != nil {
			return fmt.Errorf("giving bridge %s the address %s: %w", b.bridge(), prefix, err)
		}
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return fmt.Errorf("switching bridge %s on: %w", b.bridge(), err)
	}
	return nil
}

// Release removes the bridge with that hardware address and the links to its nodes; addresses and routes go with them. It
// is no error if there is none.
func Release(hardwareAddr string) error {
	links, err := netlink.LinkList()
	if err != nil {
		return fmt.Errorf("listing this machine's links: %w", err)
	}
	at := slices.IndexFunc(links, func(link netlink.Link) bool {
		return link.Type() == "bridge" && link.Attrs().HardwareAddr.String() == hardwareAddr
	})
	if at < 0 {
		return nil
	}
	bridge := links[at]
	for _, link := range links {
		if link.Attrs().MasterIndex != bridge.Attrs().Index {
			continue
		}
		// The kernel itself removes it once its node's network namespace has gone: then it is not found.
		if err := netlink.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("removing link %s: %w", link.Attrs().Name, err)
		}
	}
	if err := netlink.LinkDel(bridge); err != nil {
		return fmt.Errorf("removing bridge %s: %w", bridge.Attrs().Name, err)
	}
	return nil
}

func ipNet(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
}
