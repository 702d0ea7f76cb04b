package network

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Connect gives the network namespace of a process, which is that of node i, its link, and this machine the route to
// the node's pods. A link that a former life of the node has left is removed first.
func (b Block) Connect(i, pid int) error {
	bridge, err := netlink.LinkByName(b.bridge())
	if err != nil {
		return fmt.Errorf("looking for bridge %s: %w", b.bridge(), err)
	}
	if former, err := netlink.LinkByName(b.port(i)); err == nil {
		if err := netlink.LinkDel(former); err != nil && !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("removing the node's former link %s: %w", b.port(i), err)
		}
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MasterIndex, attributes.Flags = b.port(i), bridge.Attrs().Index, unix.IFF_UP
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attributes, PeerName: Link, PeerNamespace: netlink.NsPid(pid)}); err != nil {
		return fmt.Errorf("making the node's link %s: %w", b.port(i), err)
	}
	if err := b.Heal(i); err != nil {
		return err
	}
	route := &netlink.Route{LinkIndex: bridge.Attrs().Index, Dst: ipNet(b.Pods(i)), Gw: b.Node(i).AsSlice()}
	if err := netlink.RouteReplace(route); err != nil {
		return fmt.Errorf("adding the route to the pods of node %d: %w", i, err)
	}
	return nil
}

// Cut switches the link of node i off: nothing reaches the node, and nothing leaves it.
func (b Block) Cut(i int) error {
	link, err := netlink.LinkByName(b.port(i))
	if err != nil {
		return fmt.Errorf("looking for the node's link %s: %w", b.port(i), err)
	}
	if err := netlink.LinkSetDown(link); err != nil {
		return fmt.Errorf("switching the node's link %s off: %w", b.port(i), err)
	}
	return nil
}

// Heal switches the link of node i on again.
func (b Block) Heal(i int) error {
	link, err := netlink.LinkByName(b.port(i))
	if err != nil {
		return fmt.Errorf("looking for the node's link %s: %w", b.port(i), err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("switching the node's link %s on: %w", b.port(i), err)
	}
	return nil
}

// Setup gives the calling process's own network namespace, that of node i of so many nodes, its address and its routes. It
// waits until Connect has put the link there.
func (b Block) Setup(i, nodes int) error {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("looking for the loopback: %w", err)
	}
	if err := netlink.LinkSetUp(loopback); err != nil {
		return fmt.Errorf("switching the loopback on: %w", err)
	}
	link, err := awaitLink()
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(b.Node(i), 24))}); err != nil {
		return fmt.Errorf("giving the node its address: %w", err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("switching the node's link on: %w", err)
	}
	if err := b.addRoutes(link, i, nodes); err != nil {
		return err
	}
	// The node forwards between its pods and the link; the setting is the network namespace's own.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("letting the node forward: %w", err)
	}
	return nil
}

func awaitLink() (netlink.Link, error) {
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		link, err := netlink.LinkByName(Link)
		if err == nil {
			return link, nil
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("waiting for the node's link: %w", err)
		}
	}
}

// addRoutes leads to the pods of the other nodes by their nodes, and to all else by this machine.
func (b Block) addRoutes(link netlink.Link, i, nodes int) error {
	routes := []*netlink.Route{{LinkIndex: link.Attrs().Index, Gw: b.Gateway().AsSlice()}}
	for other := range nodes {
		if other != i {
			routes = append(routes, &netlink.Route{
				LinkIndex: link.Attrs().Index, Dst: ipNet(b.Pods(other)), Gw: b.Node(other).AsSlice(),
			})
		}
	}
	for _, route := range routes {
		if err := netlink.RouteAdd(route); err != nil {
			return fmt.Errorf("adding the route %s: %w", route, err)
		}
	}
	return nil
}
