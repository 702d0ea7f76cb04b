package progress

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Ports is a list of ranges of ports.
type Ports []PortRange

// PortRange is a range of ports, its ends included.
type PortRange struct{ First, Last uint16 }

// kubernetesPorts are the ports of etcd, the API server, the kubelet, kube-proxy, the scheduler and the controller manager on nodes. A rule of the
// TrainingJob names them too. Source: https://kubernetes.io/docs/reference/networking/ports-and-protocols.
var kubernetesPorts = Ports{{2379, 2381}, {6443, 6443}, {10248, 10260}}

// ParsePorts returns the ports of a list such as 9100, 9400-9410. It returns an error for an entry of another form.
func ParsePorts(list []string) (Ports, error) {
	var ports Ports
	for _, entry := range list {
		from, to, isRange := strings.Cut(entry, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 16)
		last, lastErr := strconv.ParseUint(to, 10, 16)
		if err != nil || lastErr != nil || first == 0 || last < first {
			return nil, fmt.Errorf("%q: write a port or a range, as 9100 or 9400-9410", entry)
		}
		ports = append(ports, PortRange{uint16(first), uint16(last)})
	}
	return ports, nil
}

func (p Ports) has(port int32) bool {
	return slices.ContainsFunc(p, func(r PortRange) bool { return int32(r.First) <= port && port <= int32(r.Last) })
}
