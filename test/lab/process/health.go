package process

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Health is the endpoint by which a component itself says that it is ready.
type Health struct {
	URL string
	// Token is sent as bearer token; empty for endpoints that are open to all.
	Token string
	// Within is how long the component may take.
	Within time.Duration
}

// WaitHealthy returns once the child's health endpoint answers 200. It returns an error
// that ends with the last lines of the child's log when the child exits first or does not
// get healthy in time, and one without them when ctx is done.
func (c *Child) WaitHealthy(ctx context.Context, health Health) error {
	answer := "nothing listens there yet"
	timeout := time.After(health.Within)
	for {
		select {
		case err := <-c.exited:
			return fmt.Errorf("%s exited while starting (%s); its log ends with:\n%s", c.Name, describeExit(err), c.logTail())
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", c.Name, ctx.Err())
		case <-timeout:
			return fmt.Errorf("%s did not get healthy within %s (%s: %s); its log ends with:\n%s",
				c.Name, health.Within, health.URL, answer, c.logTail())
		case <-time.After(50 * time.Millisecond):
		}
		var ok bool
		if ok, answer = health.ask(ctx); ok {
			return nil
		}
	}
}

// healthClient accepts any certificate: it talks to this machine only, and some components
// make their certificate up in memory.
var healthClient = &http.Client{
	Timeout:   5 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
}

func (h Health) ask(ctx context.Context) (ok bool, answer string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL, nil)
	if err != nil {
		return false, err.Error()
	}
	if h.Token != "" {
		request.Header.Set("Authorization", "Bearer "+h.Token)
	}
	response, err := healthClient.Do(request)
	if err != nil {
		return false, err.Error()
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK, response.Status + failedChecks(response.Body)
}

// failedChecks returns the checks that a component of Kubernetes lists as failed in its answer: "[-]etcd failed: ...".
func failedChecks(body io.Reader) string {
	var failed strings.Builder
	for lines := bufio.NewScanner(body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "[-]") {
			failed.WriteString(", " + lines.Text())
		}
	}
	return failed.String()
}

func describeExit(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// logTail returns the last lines of the child's log, indented.
func (c *Child) logTail() string {
	const lines = 12
	log, err := os.ReadFile(c.Log)
	if err != nil {
		return "  (no log: " + err.Error() + ")"
	}
	all := strings.Split(strings.TrimSpace(string(log)), "\n")
	return "  " + strings.Join(all[max(0, len(all)-lines):], "\n  ")
}
