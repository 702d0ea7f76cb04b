package local

import (
	"context"
	"fmt"
	"net"
	"syscall"
)

// isFree reports whether a program can listen at the port that does not set SO_REUSEADDR. After a run the connections of its processes keep
// a port busy for a minute.
func isFree(port int) bool {
	var failed error
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		err := c.Control(func(socket uintptr) {
			failed = syscall.SetsockoptInt(int(socket), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0)
		})
		if err != nil {
			return err
		}
		return failed
	}}
	listener, err := config.Listen(context.Background(), "tcp4", fmt.Sprintf(":%d", port))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}
