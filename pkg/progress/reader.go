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
	"time"
)

const (
	// readWithin is how long one request may take in all.
	readWithin = 2 * time.Second
	// maxHeader is the longest header of an answer, in bytes.
	maxHeader = 4 << 10
)

const (
	// reportPath is the path of a report.
	reportPath = "/progress"
	// longestReport is the longest report, in bytes.
	longestReport = 16 << 10
)

// ErrSilent is the error of a read whose connection a process accepted and did not answer in time. The network works, so the process is
// stopped, or a thread of it holds Python's lock.
var ErrSilent = errors.New("a process accepts the connection and does not answer within " + readWithin.String())

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

// Read returns the report on a page. It returns ErrSilent if a process accepts the connection and does not answer. The text of any other
// error is the same for the same cause: it names no port of the operator and no time.
func (r *Reader) Read(ctx context.Context, page netip.AddrPort) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	var isConnected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { isConnected.Store(true) }})
	url := "http://" + page.String() + reportPath
	body, err := r.get(ctx, url, longestReport)
	switch {
	case err == nil:
		return body, nil
	case isTimeout(err) && isConnected.Load():
		return nil, ErrSilent
	default:
		return nil, fmt.Errorf("%s: %s", url, cause(err))
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

// cause returns the innermost error as text. The outer ones name addresses and ports.
func cause(err error) string {
	var number syscall.Errno
	switch {
	case isTimeout(err):
		return "no connection within " + readWithin.String()
	case errors.As(err, &number):
		return number.Error()
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ends before the answer"
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
