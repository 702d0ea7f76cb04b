package network

import (
	"fmt"
	"net/netip"
	"testing"
)

// RFC 2544 keeps this range for tests of networks.
var testRange = netip.MustParsePrefix("198.18.0.0/15")

func TestAddressesOfOneBlock(t *testing.T) {
	last := Block(blocks - 1)
	for got, want := range map[string]string{
		Block(0).Whole().String():        "198.18.0.0/19",
		Block(0).Gateway().String():      "198.18.0.1",
		Block(0).Node(0).String():        "198.18.0.10",
		Block(0).Services().String():     "198.18.4.0/22",
		Block(0).APIServer().String():    "198.18.4.1",
		Block(0).Pods(1).String():        "198.18.9.0/24",
		Block(8).Whole().String():        "198.19.0.0/19",
		last.Pods(MaxNodes - 1).String(): "198.19.255.0/24",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestNoTwoLabsAndNoTwoNodesShareAnAddress(t *testing.T) {
	var all []netip.Prefix
	for b := Block(0); b < blocks; b++ {
		if !testRange.Overlaps(b.Whole()) || !testRange.Contains(b.Pods(MaxNodes-1).Addr()) {
			t.Errorf("block %d leaves %s", b, testRange)
		}
		ranges := []netip.Prefix{netip.PrefixFrom(b.Gateway(), 24).Masked(), b.Services()}
		for i := range MaxNodes {
			ranges = append(ranges, b.Pods(i))
			if !ranges[0].Contains(b.Node(i)) {
				t.Errorf("node %d of block %d is not on the bridge's network", i, b)
			}
		}
		all = append(all, ranges...)
	}
	for i, one := range all {
		for _, other := range all[:i] {
			if one.Overlaps(other) {
				t.Errorf("%s and %s overlap", one, other)
			}
		}
	}
}

// The kernel takes names of 15 characters.
func TestNamesOfLinksAreShortEnough(t *testing.T) {
	b := Block(blocks - 1)
	for _, name := range []string{b.bridge(), b.port(MaxNodes - 1)} {
		if len(name) > 15 {
			t.Errorf("%s is too long for a link", name)
		}
	}
}

func TestHardwareAddressesAreLocalAndDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		address := NewHardwareAddr()
		var first int
		if _, err := fmt.Sscanf(address, "%x:", &first); err != nil || first&3 != 2 {
			t.Errorf("%s is not locally administered, or is multicast (%v)", address, err)
		}
		seen[address] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d different addresses of 100", len(seen))
	}
}
