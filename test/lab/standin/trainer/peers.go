package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"time"
)

// place is a rank among its peers.
type place struct {
	rank, world int
	// listen is the address for the peers with a higher rank; dial are those with a lower one, by their ranks.
	listen string
	dial   []string
}

// readPlace reads what the operator has put into the environment.
func readPlace() (place, error) {
	if config := os.Getenv("TF_CONFIG"); config != "" {
		return ofTFConfig(config)
	}
	if os.Getenv("MASTER_ADDR") == "" {
		return place{world: 1}, nil
	}
	rank, err := strconv.Atoi(os.Getenv("RANK"))
	if err != nil {
		return place{}, fmt.Errorf("RANK: %w", err)
	}
	world, err := strconv.Atoi(os.Getenv("WORLD_SIZE"))
	if err != nil {
		return place{}, fmt.Errorf("WORLD_SIZE: %w", err)
	}
	if rank == 0 {
		return place{rank: rank, world: world, listen: ":" + os.Getenv("MASTER_PORT")}, nil
	}
	return place{rank: rank, world: world, dial: []string{net.JoinHostPort(os.Getenv("MASTER_ADDR"), os.Getenv("MASTER_PORT"))}}, nil
}

// ofTFConfig ranks the tasks by role and index: chief, master, worker, ps. An evaluator has no peers.
func ofTFConfig(text string) (place, error) {
	var config struct {
		Cluster map[string][]string `json:"cluster"`
		Task    struct {
			Type  string `json:"type"`
			Index int    `json:"index"`
		} `json:"task"`
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return place{}, fmt.Errorf("TF_CONFIG: %w", err)
	}
	var all []string
	for _, role := range []string{"chief", "master", "worker", "ps"} {
		all = append(all, config.Cluster[role]...)
	}
	if config.Task.Type == "evaluator" {
		return place{world: 1}, nil
	}
	own := config.Cluster[config.Task.Type]
	if config.Task.Index >= len(own) {
		return place{}, fmt.Errorf("TF_CONFIG: the cluster has no %s %d", config.Task.Type, config.Task.Index)
	}
	_, port, err := net.SplitHostPort(own[config.Task.Index])
	if err != nil {
		return place{}, fmt.Errorf("TF_CONFIG: %w", err)
	}
	rank := slices.Index(all, own[config.Task.Index])
	return place{rank: rank, world: len(all), listen: ":" + port, dial: all[:rank]}, nil
}

// peer is a connection with another rank.
type peer struct {
	rank int
	conn net.Conn
}

// meet connects with all peers and tries for ten minutes, as long as PyTorch does.
func meet(where place) []peer {
	var peers []peer
	for rank, address := range where.dial {
		conn := dial(address)
		_ = binary.Write(conn, binary.BigEndian, int64(where.rank))
		peers = append(peers, peer{rank, conn})
	}
	higher := where.world - 1 - where.rank
	if where.listen == "" || higher == 0 {
		return peers
	}
	listener, err := net.Listen("tcp", where.listen)
	if err != nil {
		end(2, err.Error())
	}
	for range higher {
		conn, err := listener.Accept()
		if err != nil {
			end(2, err.Error())
		}
		var rank int64
		if err := binary.Read(conn, binary.BigEndian, &rank); err != nil {
			end(brokenCode, "rendezvous: "+err.Error())
		}
		say("rank %d has come from %s", rank, conn.RemoteAddr())
		peers = append(peers, peer{int(rank), conn})
	}
	return peers
}

func dial(address string) net.Conn {
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", address, 2*time.Second)
		if err == nil {
			say("is connected with %s", address)
			return conn
		}
		if time.Now().After(deadline) {
			end(brokenCode, "rendezvous: "+err.Error())
		}
		say("tries again: %v", err)
	}
}

// exchange sends the number of the step and waits for the peer's; it reports how that went.
func (p peer) exchange(step int, result chan<- error) {
	if err := binary.Write(p.conn, binary.BigEndian, int64(step)); err != nil {
		result <- fmt.Errorf("lost rank %d: %w", p.rank, err)
		return
	}
	var theirs int64
	if err := binary.Read(p.conn, binary.BigEndian, &theirs); err != nil {
		result <- fmt.Errorf("lost rank %d: %w", p.rank, err)
		return
	}
	if theirs != int64(step) {
		result <- fmt.Errorf("rank %d is at step %d, this one at %d", p.rank, theirs, step)
		return
	}
	result <- nil
}
