package progress

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/trainingjob/operator/pkg/job/state"
)

// aPod is the address of a page in these tests. The dialer of a test connects to a server of the test instead.
var aPod = netip.MustParseAddrPort("10.1.2.3:9500")

// readFrom reads the report from a server, and returns the error as well as the requests that the server got.
func readFrom(t *testing.T, serve http.HandlerFunc) (body string, requests []*http.Request, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r)
		serve(w, r)
	}))
	defer server.Close()
	reader := newReader(func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != aPod.String() {
			return nil, fmt.Errorf("a connection to %s", address)
		}
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	})
	read, err := reader.Read(t.Context(), aPod, Report)
	return string(read), requests, err
}

func TestAReadIsOneGETWithoutCredentials(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://10.9.9.9:3128") // it would be asked for 10.1.2.3
	body, requests, err := readFrom(t, func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "who", Value: "operator"})
		fmt.Fprint(w, strings.Repeat("x", 16<<10))
	})
	if err != nil || len(body) != 16<<10 {
		t.Fatalf("16 KiB are read as %d bytes: %v", len(body), err)
	}
	if len(requests) != 1 || requests[0].Method != http.MethodGet || requests[0].URL.String() != "/progress" || requests[0].ContentLength != 0 {
		t.Errorf("requests are %v, want one GET of /progress without a body", requests)
	}
	for name := range requests[0].Header {
		if name != "User-Agent" && name != "Connection" {
			t.Errorf("the request has the header %s", name)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	packed := pack(t, make([]byte, 32<<20))
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
		}, "http://10.1.2.3:9500/progress: the answer has status 302 instead of 200"},
		"a page that is not there": {http.NotFound, "the answer has status 404 instead of 200"},
		"one byte too many": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Repeat("x", 16<<10+1))
		}, "the answer has more than 16384 bytes"},
		"1 GiB": {func(w http.ResponseWriter, _ *http.Request) {
			for block := make([]byte, 1<<20); ; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, "the answer has more than 16384 bytes"},
		"32 MiB that were compressed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed) // the reader closes the connection before its end
		}, "the answer has more than 16384 bytes"},
		"a long header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Long", strings.Repeat("x", 64<<10))
			fmt.Fprint(w, "{}")
		}, "net/http: server response headers exceeded 4096 bytes; aborted"},
		"an answer that breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{}")
		}, "the connection ends before the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			body, requests, err := readFrom(t, c.serve)
			if err == nil || body != "" || !strings.HasSuffix(err.Error(), c.want) || errors.Is(err, ErrSilent) {
				t.Errorf("it is read as %d bytes, error %v, want an error that ends with %q", len(body), err, c.want)
			}
			if len(requests) != 1 {
				t.Errorf("%d requests, want one", len(requests))
			}
		})
	}
}

// A slow answer ends after 2 s, whether the server sends nothing or a byte at a time.
func TestAProcessThatDoesNotAnswerIsSilent(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]http.HandlerFunc{
		"nothing comes": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"a byte every moment": func(w http.ResponseWriter, r *http.Request) {
			for tick := time.NewTicker(100 * time.Millisecond); ; {
				select {
				case <-r.Context().Done():
					return
				case <-tick.C:
					fmt.Fprint(w, " ")
					w.(http.Flusher).Flush()
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := readFrom(t, serve); !errors.Is(err, ErrSilent) {
				t.Errorf("error %v, want %v", err, ErrSilent)
			}
		})
	}
}

// Where nothing listens, and where no packet arrives, the process may be well: neither is silence.
func TestANetworkThatForbidsTheReadIsNotSilence(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	for want, dial := range map[string]func(context.Context) (net.Conn, error){
		"http://10.1.2.3:9500/progress: connection refused": func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", free.Addr().String())
		},
		"http://10.1.2.3:9500/progress: no connection within 2s": func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			_, err := newReader(func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }).Read(context.Background(), aPod, Report)
			if err == nil || err.Error() != want {
				t.Errorf("error %q, want %q", err, want)
			}
		})
	}
}

func TestAddress(t *testing.T) {
	fence := Fence{Addresses: ServerAddresses("https://10.96.0.1:443")}
	for _, c := range []struct {
		ip   string
		port int32
		want string
	}{
		{"10.1.2.3", 9500, "10.1.2.3:9500"},
		{"fd00:10:244::7", 9500, "[fd00:10:244::7]:9500"},
		{"::ffff:10.1.2.3", 9500, "10.1.2.3:9500"},
		{"", 9500, ""}, {"a-name", 9500, ""}, {"10.1.2", 9500, ""},
		{"127.0.0.1", 9500, ""}, {"::1", 9500, ""}, {"::ffff:127.0.0.1", 9500, ""},
		{"169.254.169.254", 9500, ""}, {"fe80::1", 9500, ""}, {"fe80::1%eth0", 9500, ""}, {"fd00::1%eth0", 9500, ""}, {"::ffff:169.254.169.254", 9500, ""},
		{"224.0.0.1", 9500, ""}, {"ff02::1", 9500, ""}, {"255.255.255.255", 9500, ""}, {"0.0.0.0", 9500, ""}, {"::", 9500, ""},
		{"10.96.0.1", 9500, ""}, {"::ffff:10.96.0.1", 9500, ""},
		{"10.1.2.3", 0, ""}, {"10.1.2.3", 443, ""}, {"10.1.2.3", 65536, ""}, {"10.1.2.3", -1, ""},
	} {
		got, err := fence.AddressOf(&state.Pod{Page: state.Page{Address: c.ip, Port: c.port}})
		if (err != nil) != (c.want == "") || err == nil && got.String() != c.want {
			t.Errorf("%s, port %d: %v, error %v, want %q", c.ip, c.port, got, err, c.want)
		}
	}
}

// On the network of a node some ports are those of Kubernetes, and an administrator forbids others. A pod of the pods' network may use them.
func TestPortsOfNodes(t *testing.T) {
	ports, err := ParsePorts([]string{"9100", "9400-9410"})
	if err != nil {
		t.Fatal(err)
	}
	fence := Fence{Addresses: ServerAddresses("https://192.168.0.1:6443"), NodePorts: ports}
	for port, want := range map[int32]string{
		9500: "", 2378: "", 2382: "", 6442: "", 6444: "", 10247: "", 10261: "", 9099: "", 9101: "", 9399: "", 9411: "",
		2379: "one of Kubernetes", 2380: "one of Kubernetes", 2381: "one of Kubernetes", 6443: "one of Kubernetes", 10248: "one of Kubernetes", 10250: "one of Kubernetes",
		10255: "one of Kubernetes", 10260: "one of Kubernetes", 9100: "--forbidden-page-ports", 9400: "--forbidden-page-ports", 9405: "--forbidden-page-ports", 9410: "--forbidden-page-ports",
		1023: "between 1024 and 65535", 65536: "between 1024 and 65535",
	} {
		_, err := fence.AddressOf(&state.Pod{Page: state.Page{Address: "192.168.0.2", Port: port, OnHost: true}})
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("port %d of a node: error %v, want %q", port, err, want)
		}
		if _, err := fence.AddressOf(&state.Pod{Page: state.Page{Address: "10.1.2.3", Port: port}}); err != nil && port > 1023 && port < 65536 {
			t.Errorf("port %d of a pod: %v", port, err)
		}
	}
	for _, ip := range []string{"127.0.0.1", "::1", "169.254.169.254", "fe80::1", "192.168.0.1", ""} {
		if address, err := fence.AddressOf(&state.Pod{Page: state.Page{Address: ip, Port: 9500, OnHost: true}}); err == nil {
			t.Errorf("it reads a page at %s of a node", address)
		}
	}
	for _, wrong := range []string{"", "0", "x", "9500-", "-9500", "9500-9400", "65536", "1-65536", "http", "1-2-3"} {
		if ports, err := ParsePorts([]string{wrong}); err == nil {
			t.Errorf("%q are the ports %v", wrong, ports)
		}
	}
}

// pack returns the bytes, compressed.
func pack(t *testing.T, body []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
