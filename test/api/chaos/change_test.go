//go:build chaos

package chaos

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// notice is what etcd says in a watch.
type notice struct {
	Result struct {
		CompactRevision string `json:"compact_revision"`
		CancelReason    string `json:"cancel_reason"`
		Events          []change
	}
}

type change struct {
	Type string
	KV   struct {
		Key, Value     []byte
		CreateRevision int64 `json:"create_revision,string"`
		ModRevision    int64 `json:"mod_revision,string"`
	}
}

// enter enters one change into the ledger and into the account of its job.
func (t *tape) enter(c *change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = c.KV.ModRevision + 1
	key := string(c.KV.Key)
	if !strings.HasPrefix(key, podKeys+t.namespace+"/") && !strings.HasPrefix(key, jobKeys+t.namespace+"/") {
		return
	}
	o, err := t.observation(key, c)
	if err != nil {
		t.trouble = fmt.Sprintf("reading %s: %v", key, err)
		return
	}
	t.stored[key] = o
	if o.Event == watch.Deleted {
		delete(t.stored, key)
	}
	if o.Job == nil || o.Event != watch.Deleted {
		t.ledger.Enter(o)
	}
	t.book(o)
}

var decoder = serializer.NewCodecFactory(testbed.Scheme).UniversalDeserializer()

// observation decodes a change. What is deleted is as it was last.
func (t *tape) observation(key string, c *change) (ledger.Observation, error) {
	o := ledger.Observation{Revision: uint64(c.KV.ModRevision), Event: watch.Modified}
	switch {
	case c.Type == "DELETE":
		o = t.stored[key]
		o.Revision, o.Event = uint64(c.KV.ModRevision), watch.Deleted
		return o, nil
	case c.KV.CreateRevision == c.KV.ModRevision:
		o.Event = watch.Added
	}
	object, _, err := decoder.Decode(c.KV.Value, nil, nil)
	switch object := object.(type) {
	case *v1alpha1.TrainingJob:
		object.ResourceVersion = strconv.FormatInt(c.KV.ModRevision, 10)
		o.Job = object
	case *corev1.Pod:
		object.ResourceVersion = strconv.FormatInt(c.KV.ModRevision, 10)
		o.Pod = object
	default:
		return o, fmt.Errorf("found a %T: %w", object, err)
	}
	return o, nil
}
