package server

import (
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Server stores objects and answers requests.
type Server struct {
	// Admit, if set, refuses a request with the error it returns, after the server itself has found nothing wrong.
	Admit func(*Request) error
	// Unserved are the kinds whose API the server does not have.
	Unserved map[Kind]bool

	clock  clock.PassiveClock
	stores [kinds]store
	logs   [kinds][]Change
	// forgotten is how many changes of each kind have left the log.
	forgotten [kinds]int
	version   int64
	uids      int
	watchers  []func(*Change)
}

// Change is what one write did to one object.
type Change struct {
	Kind Kind
	// Was is the object before, nil if it was created; Is the object after it, nil if it is gone.
	Was, Is client.Object
	// Request is the write that did it.
	Request *Request
}

// Verb is what a request does.
type Verb string

// The verbs.
const (
	Create Verb = "create"
	Update Verb = "update"
	Patch  Verb = "patch"
	Delete Verb = "delete"
)

// Request is a write as the server gets it.
type Request struct {
	// User is the client, and Note the client's own remark, for the watchers of the server.
	User string
	Note any

	Verb Verb
	Kind Kind
	Key  client.ObjectKey
	// Status is whether the status subresource is meant.
	Status bool
	// Object is what is to be created or updated.
	Object client.Object
	// Patch is a JSON merge patch (RFC 7386), or a strategic one if Strategic is set.
	Patch     []byte
	Strategic bool
	// Delete holds the options of a delete.
	Delete metav1.DeleteOptions
}

// String returns the request as people write it: "create pods j-worker-0".
func (r *Request) String() string {
	resource := r.Kind.String()
	if r.Status {
		resource += "/status"
	}
	return fmt.Sprintf("%s %s %s", r.Verb, resource, r.Key.Name)
}

// New returns an empty server.
func New(clock clock.PassiveClock) *Server { return &Server{clock: clock, version: 1000} }

// Watch calls watcher after every write, in the order of the calls to Watch.
func (s *Server) Watch(watcher func(*Change)) { s.watchers = append(s.watchers, watcher) }

// Do does the request and returns the resulting object. After a delete that is the last version, or the one that waits for
// its end. It returns the API errors of the real server.
func (s *Server) Do(r *Request) (client.Object, error) {
	if err := s.Match(r.Kind); err != nil {
		return nil, err
	}
	switch r.Verb {
	case Create:
		return s.create(r)
	case Update:
		return s.update(r)
	case Patch:
		return s.patch(r)
	default:
		return s.delete(r)
	}
}

// Get returns the object as it is, nil if there is none.
func (s *Server) Get(kind Kind, namespace, name string) client.Object {
	return s.stores[kind].get(client.ObjectKey{Namespace: namespace, Name: name})
}

// List returns all objects of the kind, by namespace and name.
func (s *Server) List(kind Kind) []client.Object { return slices.Clone(s.stores[kind].list()) }

// Version returns the resourceVersion of the latest write.
func (s *Server) Version() int64 { return s.version }

// Length returns how many changes there have been to objects of the kind.
func (s *Server) Length(kind Kind) int { return s.forgotten[kind] + len(s.logs[kind]) }

// Forget drops the changes that the cache has taken in: the log of a long run would hold every version of every object. It must be the
// only cache; one that is made later begins with what there is.
func (s *Server) Forget(c *Cache) {
	for _, kind := range Kinds {
		s.logs[kind] = slices.Delete(s.logs[kind], 0, c.at[kind]-s.forgotten[kind])
		s.forgotten[kind] = c.at[kind]
	}
}

func (s *Server) existing(r *Request) (client.Object, error) {
	if o := s.stores[r.Kind].get(r.Key); o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(r.Kind.Resource(), r.Key.Name)
}

func (s *Server) admit(r *Request) error {
	if s.Admit == nil {
		return nil
	}
	return s.Admit(r)
}

// commit stores o in place of was; o is the server's own copy.
func (s *Server) commit(r *Request, was, o client.Object) client.Object {
	s.version++
	o.SetResourceVersion(strconv.FormatInt(s.version, 10))
	wholeSeconds(o)
	s.stores[r.Kind].put(o)
	s.tell(&Change{Kind: r.Kind, Was: was, Is: o, Request: r})
	return o
}

// remove ends an object.
func (s *Server) remove(r *Request, was client.Object) {
	s.version++
	s.stores[r.Kind].drop(client.ObjectKeyFromObject(was))
	s.tell(&Change{Kind: r.Kind, Was: was, Request: r})
}

func (s *Server) tell(c *Change) {
	s.logs[c.Kind] = append(s.logs[c.Kind], *c)
	for _, watcher := range s.watchers {
		watcher(c)
	}
}

func (s *Server) newUID() types.UID {
	s.uids++
	return types.UID(fmt.Sprintf("uid-%d", s.uids))
}

func (s *Server) now() metav1.Time { return metav1.NewTime(s.clock.Now()).Rfc3339Copy() }

func clone(o client.Object) client.Object { return o.DeepCopyObject().(client.Object) }
