//go:build chaos

package chaos

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// request is a line of the API server's audit log: a request that was answered.
type request struct {
	Verb             string
	ImpersonatedUser struct{ Username string }
	ObjectRef        struct{ Resource, Subresource, Namespace, Name string }
	ResponseStatus   struct{ Code int }
	// Received is when the request came, Answered when the API server was done with it.
	Received time.Time `json:"requestReceivedTimestamp"`
	Answered time.Time `json:"stageTimestamp"`
}

func (r *request) String() string {
	return fmt.Sprintf("%s %s %s %s/%s: %d", r.Received.Format("15:04:05.000"), r.Verb,
		strings.TrimSuffix(r.ObjectRef.Resource+"/"+r.ObjectRef.Subresource, "/"), r.ObjectRef.Namespace, r.ObjectRef.Name, r.ResponseStatus.Code)
}

// writes reports whether the request is to change something.
func (r *request) writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// wasRefused reports whether the request changed nothing. A 404 or 409 tells a writer that what he knows is out of date.
func (r *request) wasRefused() bool { return r.ResponseStatus.Code >= 400 }

// requests returns what the operators were answered so far, by user.
func requests() map[string][]*request {
	GinkgoHelper()
	file, err := os.Open(lab.file("audit.log"))
	Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	found := map[string][]*request{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !strings.Contains(lines.Text(), `"username":"operator-`) {
			continue
		}
		r := &request{}
		if json.Unmarshal(lines.Bytes(), r) == nil { // the last line may be half written
			found[r.ImpersonatedUser.Username] = append(found[r.ImpersonatedUser.Username], r)
		}
	}
	Expect(lines.Err()).NotTo(HaveOccurred())
	return found
}
