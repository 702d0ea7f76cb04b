package progress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/trainingjob/operator/pkg/job/state"
)

// maxHeader is the longest header of an answer, in bytes.
const maxHeader = 4 << 10

// Target is a path of a page, and the longest answer in bytes.
type Target struct {
	path    string
	longest int64
}

// The paths that the operator requests.
var (
	Report = Target{"/progress", 16 << 10}
	Stacks = Target{"/stacks", 64 << 10}
)

// ErrSilent is the error of a read whose connection a process accepted and did not answer in time. The network works, so the process is
// stopped, or a thread of it holds Python's lock.
var ErrSilent = errors.New("a process accepts the connection and does not answer within " + state.ReadWithin.String())

// ErrUnreached is the error of a read without a connection in time.
var ErrUnreached = errors.New("no connection within " + state.ReadWithin.String())

// IsSilence reports whether a process of a job whose pods the operator can reach does not answer: its node is dead, it is stopped, or a
// thread of it holds Python's lock.
func IsSilence(err error) bool {
	return errors.Is(err, ErrSilent) || errors.Is(err, ErrUnreached) || errors.Is(err, syscall.EHOSTUNREACH)
}

// Reader reads pages. Its zero value connects to nothing: make it with NewReader.
type Reader struct{ client *http.Client }

// NewReader returns a Reader that uses no proxy, follows no redirect, keeps no connection or cookie, and sends no credentials.
func NewReader() *Reader { return newReader((&net.Dialer{}).DialContext) }

func newReader(dial func(ctx context.Context, network, address string) (net.Conn, error)) *Reader {
	return &Reader{&http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dial, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		},
	}}
}

// Read returns what a page shows. It returns ErrSilent if a process accepts the connection and does not answer. The text of any other
// error is the same for the same cause: it names no port of the operator and no time.
func (r *Reader) Read(ctx context.Context, page netip.AddrPort, target Target) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, state.ReadWithin)
	defer cancel()
	var isConnected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { isConnected.Store(true) }})
	url := "http://" + page.String() + target.path
	body, err := r.get(ctx, url, target.longest)
	switch {
	case err == nil:
		return body, nil
	case isTimeout(err) && isConnected.Load():
		return nil, ErrSilent
	default:
		return nil, fmt.Errorf("%s: %w", url, cause(err))
	}
}

func (r *Reader) get(ctx context.Context, url string, longest int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "trainingjob-operator")
	response, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // only read from
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer has status %d instead of 200", response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, longest+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > longest {
		return nil, fmt.Errorf("the answer has more than %d bytes", longest)
	}
	return body, nil
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// cause returns the innermost error. The outer ones name addresses and ports.
func cause(err error) error {
	var number syscall.Errno
	switch {
	case isTimeout(err):
		return ErrUnreached
	case errors.As(err, &number):
		return number
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the connection ends before the answer")
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(text)
}
