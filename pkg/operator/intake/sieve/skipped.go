package sieve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Skipped is an object that the API server stores and Go cannot decode.
type Skipped struct {
	metav1.TypeMeta

	Namespace, Name, ResourceVersion string
	UID                              types.UID
	// Why is the decoder's error, at most maxWhy bytes.
	Why string
}

// maxWhy bounds what is kept of an error: it may quote the object.
const maxWhy = 512

// maxSkipped bounds how many objects are kept in memory. More are skipped all the same.
const maxSkipped = 1000

// KindName returns the kind as kubectl takes it, with the group: TrainingJob.trainingjob.dev.
func (s *Skipped) KindName() string {
	return schema.FromAPIVersionAndKind(s.APIVersion, s.Kind).GroupKind().String()
}

// String returns the object and what is wrong with it.
func (s *Skipped) String() string {
	return fmt.Sprintf("%s %s/%s, which cannot be decoded: %s", s.KindName(), s.Namespace, s.Name, s.Why)
}

// Object returns the object as a subject of Events.
func (s *Skipped) Object() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: s.TypeMeta, ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion}}
}

// identity returns the object as JSON with nothing but what a cache finds it by.
func (s *Skipped) identity() []byte {
	raw, err := json.Marshal(s.Object())
	if err != nil {
		panic(err) // strings always marshal
	}
	return raw
}

// describe returns the undecodable object with the reason. The API server checks the metadata of every object, so they decode.
func describe(raw []byte, err error) *Skipped {
	var object metav1.PartialObjectMetadata
	why := err.Error()
	if err := json.Unmarshal(raw, &object); err != nil {
		why = fmt.Sprintf("%s; its metadata: %v", why, err)
	}
	why = strings.ToValidUTF8(why[:min(len(why), maxWhy)], "")
	return &Skipped{TypeMeta: object.TypeMeta, Namespace: object.Namespace, Name: object.Name, ResourceVersion: object.ResourceVersion, UID: object.UID, Why: why}
}

// ledger holds the objects that are skipped, by the collection where they were seen.
type ledger struct {
	found func(Skipped)

	mu      sync.Mutex
	round   int
	objects map[sighting]*entry
}

// sighting is where an object was seen: the path of a request and the object's UID.
type sighting struct {
	path string
	uid  types.UID
}

// entry is a skipped object, and the round of the whole list that showed it last.
type entry struct {
	Skipped

	round int
}

// begin returns the number of a round: a response that has every object of its collection.
func (l *ledger) begin() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.round++
	return l.round
}

// sweep drops the objects of the collection that a whole list no longer has.
func (l *ledger) sweep(path string, round int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, e := range l.objects {
		if at.path == path && e.round < round {
			delete(l.objects, at)
		}
	}
}

// add enters an object.
func (l *ledger) add(path string, round int, s Skipped) {
	l.mu.Lock()
	at := sighting{path, s.UID}
	before, isKnown := l.objects[at]
	switch {
	case isKnown:
		isKnown = before.Why == s.Why
		*before = entry{s, max(before.round, round)}
	case len(l.objects) < maxSkipped:
		if l.objects == nil {
			l.objects = map[sighting]*entry{}
		}
		l.objects[at] = &entry{s, round}
	default:
		isKnown = true
	}
	l.mu.Unlock()
	if !isKnown && l.found != nil {
		l.found(s)
	}
}

// remove drops an object that can be decoded now, or is gone.
func (l *ledger) remove(path string, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.objects, sighting{path, uid})
}

// all returns the objects, each once, sorted.
func (l *ledger) all() []Skipped {
	l.mu.Lock()
	defer l.mu.Unlock()
	byUID := map[types.UID]Skipped{}
	for at, e := range l.objects {
		byUID[at.uid] = e.Skipped
	}
	list := make([]Skipped, 0, len(byUID))
	for _, s := range byUID {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Skipped) int {
		return cmp.Or(cmp.Compare(a.KindName(), b.KindName()), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}
