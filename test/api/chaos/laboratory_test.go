//go:build chaos

package chaos

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/test/api/testbed"
)

// silence is how long a node may be silent before the lab counts it as lost.
const silence = 8 * time.Second

// laboratory is the lab under test.
type laboratory struct {
	*testbed.Lab
	etcd string
}

func startLaboratory() *laboratory {
	GinkgoHelper()
	made, err := testbed.NewLab(*labBinary, "chaos-")
	Expect(err).NotTo(HaveOccurred())
	l := &laboratory{Lab: made}
	l.run("up", "--nodes", "16", "--crds", "../../../manifests/crd", "--node-monitor-grace-period", silence.String())
	var state struct{ Ports struct{ Etcd int } }
	Expect(l.ReadState(&state)).To(Succeed())
	l.etcd = fmt.Sprintf("http://127.0.0.1:%d", state.Ports.Etcd)
	say("the lab is up in %s", l.Dir)
	return l
}

// run runs a command of the lab's binary.
func (l *laboratory) run(args ...string) {
	GinkgoHelper()
	_, err := l.Run(context.Background(), args...)
	Expect(err).NotTo(HaveOccurred())
}

// end ends the lab. Its files are kept for whoever wants to know why a spec has failed.
func (l *laboratory) end(keepFiles bool) {
	Expect(l.End(context.Background(), keepFiles)).To(Succeed())
	if keepFiles {
		say("the lab has ended; the logs of its components and of the operators, and audit.log, are in %s", l.Dir)
	}
}

// restart kills a component with SIGKILL, leaves it dead for a while and waits until it is back.
func (l *laboratory) restart(component string, deadFor time.Duration) {
	GinkgoHelper()
	start := time.Now()
	l.run("restart", "--component", component, "--dead-for", deadFor.String())
	say("%s was killed and is back after %.1f s", component, time.Since(start).Seconds())
}

// revision returns etcd's present revision.
func (l *laboratory) revision() int64 {
	GinkgoHelper()
	var now struct {
		Header struct {
			Revision int64 `json:"revision,string"`
		}
	}
	l.ask("/v3/kv/range", map[string]any{"key": encode("/")}, &now)
	Expect(now.Header.Revision).To(BeNumerically(">", 0), "etcd tells no revision")
	return now.Header.Revision
}

// compact makes etcd forget what was overwritten up to the revision.
func (l *laboratory) compact(revision int64) {
	GinkgoHelper()
	l.ask("/v3/kv/compaction", map[string]any{"revision": revision, "physical": true}, nil)
}

// fill makes etcd refuse all writes, as it does when its space is used up, until makeSpace.
func (l *laboratory) fill() (makeSpace func()) {
	GinkgoHelper()
	set := func(action string) {
		GinkgoHelper()
		l.ask("/v3/maintenance/alarm", map[string]any{"action": action, "alarm": "NOSPACE"}, nil)
		say("etcd's alarm for its space: %s", action)
	}
	set("ACTIVATE")
	makeSpace = func() {
		GinkgoHelper()
		set("DEACTIVATE")
	}
	DeferCleanup(makeSpace)
	return makeSpace
}

// ask puts a question to etcd's JSON interface.
func (l *laboratory) ask(path string, question map[string]any, answer any) {
	GinkgoHelper()
	text, err := json.Marshal(question)
	Expect(err).NotTo(HaveOccurred())
	response, err := http.Post(l.etcd+path, "application/json", bytes.NewReader(text))
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	Expect(response.StatusCode).To(Equal(http.StatusOK), "etcd answers %s with %s", path, body)
	if answer != nil {
		Expect(json.Unmarshal(body, answer)).To(Succeed())
	}
}

func encode(key string) string { return base64.StdEncoding.EncodeToString([]byte(key)) }
