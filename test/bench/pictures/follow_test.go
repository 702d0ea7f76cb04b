//go:build pictures

package pictures

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/report"
	"github.com/trainingjob/operator/pkg/cli/web"
	"github.com/trainingjob/operator/test/sim/builder"
)

// changing is a cluster in which something changes all the time.
type changing struct{}

func (changing) List() ([]v1alpha1.TrainingJob, <-chan struct{}) {
	changed := make(chan struct{})
	close(changed)
	return []v1alpha1.TrainingJob{*builder.Job("mnist", builder.Workers(1))}, changed
}

func (changing) Report(context.Context, string, string) (report.Report, error) {
	return report.Report{}, web.ErrUnknown
}

func (changing) Explain(err error) string { return err.Error() }

// The page's script runs under the page's own policy: told of a change it asks for the page again, by itself and with the token.
func TestThePageFollows(t *testing.T) {
	server := web.New(changing{}, time.Now)
	asked := make(chan string, 100)
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			asked <- r.Header.Get("Sec-Fetch-Dest")
		}
		server.Handler().ServeHTTP(w, r)
	}))
	defer pages.CloseClientConnections()
	ctx, stop := context.WithCancel(t.Context())
	browser := exec.CommandContext(ctx, os.Getenv("CHROMIUM"), "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--remote-debugging-port=0", server.Address(pages.Listener.Addr())) // the port keeps it running
	if err := browser.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { stop(); _ = browser.Wait() }()
	for _, want := range []string{"document", "empty", "empty"} { // opened by a person, then fetched by a script
		select {
		case got := <-asked:
			if got != want {
				t.Errorf("the page is asked for as %q, want %q", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatal("the page does not ask for itself again")
		}
	}
}
