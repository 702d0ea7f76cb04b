package local

import (
	"net"
	"testing"
)

func TestAPortWhoseConnectionsEndIsNotFree(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	client, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []interface{ Close() error }{listener, server, client} { // the server first: its side waits
		if err := end.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if isFree(port) {
		t.Errorf("port %d is free", port)
	}
}
