package cluster

import (
	"net"
	"reflect"
	"testing"
	"time"
)

func TestFreePortsAreDifferentAndFree(t *testing.T) {
	ports, err := freePorts()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	values := reflect.ValueOf(ports)
	for i := range values.NumField() {
		port := values.Field(i).Int()
		if port == 0 || seen[port] {
			t.Errorf("%s has port %d, which is none or taken twice", values.Type().Field(i).Name, port)
		}
		seen[port] = true
		listener, err := net.Listen("tcp", local(int(port)))
		if err != nil {
			t.Error(err)
			continue
		}
		listener.Close()
	}
}

func TestALeaseIsNeverLongerThanTheGracePeriod(t *testing.T) {
	for grace, want := range map[time.Duration]int{0: 40, 50 * time.Second: 40, 8 * time.Second: 8, time.Second: 4} {
		if got := leaseSeconds(grace); got != want {
			t.Errorf("grace period %s: lease of %d s, want %d s", grace, got, want)
		}
	}
}
