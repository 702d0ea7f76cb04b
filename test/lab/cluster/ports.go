package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are those that a lab listens on, all of 127.0.0.1; the API server of a lab with real nodes listens elsewhere (State.apiServer).
type Ports struct {
	Etcd              int `json:"etcd"`
	EtcdPeer          int `json:"etcdPeer"`
	APIServer         int `json:"apiServer"`
	ControllerManager int `json:"controllerManager"`
	Scheduler         int `json:"scheduler"`
	Kwok              int `json:"kwok"`
	OperatorMetrics   int `json:"operatorMetrics"`
	OperatorHealth    int `json:"operatorHealth"`
}

func freePorts() (Ports, error) {
	var ports Ports
	taken := map[int]bool{}
	for _, port := range []*int{
		&ports.Etcd, &ports.EtcdPeer, &ports.APIServer, &ports.ControllerManager,
		&ports.Scheduler, &ports.Kwok, &ports.OperatorMetrics, &ports.OperatorHealth,
	} {
		free, err := freePort(taken)
		if err != nil {
			return Ports{}, err
		}
		*port, taken[free] = free, true
	}
	return ports, nil
}

// more returns further ports, which are neither the lab's own nor among those that are promised to somebody.
func (p Ports) more(count int, promised ...int32) ([]int, error) {
	taken := map[int]bool{
		p.Etcd: true, p.EtcdPeer: true, p.APIServer: true, p.ControllerManager: true, p.Scheduler: true, p.Kwok: true,
		p.OperatorMetrics: true, p.OperatorHealth: true,
	}
	for _, port := range promised {
		taken[int(port)] = true
	}
	var more []int
	for range count {
		free, err := freePort(taken)
		if err != nil {
			return nil, err
		}
		more, taken[free] = append(more, free), true
	}
	return more, nil
}

// freePort tries ports below Linux' ephemeral range (32768 and up): one that the kernel
// itself had chosen it might give to an outgoing connection before its listener is up.
// They are tried in random order because two labs may be starting at once. PyTorch listens
// from 29500, as torchrun and kubectl tj run do on the same machine.
func freePort(taken map[int]bool) (int, error) {
	const lowest, count, tries = 20000, 9000, 1000
	for range tries {
		port := lowest + rand.IntN(count)
		if taken[port] {
			continue
		}
		listener, err := net.Listen("tcp", local(port))
		if err != nil {
			continue
		}
		listener.Close()
		return port, nil
	}
	return 0, fmt.Errorf("no free port of 127.0.0.1 found between %d and %d", lowest, lowest+count)
}

func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
