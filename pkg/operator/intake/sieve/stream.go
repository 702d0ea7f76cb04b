package sieve

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// source is the list or watch of one request.
type source struct {
	sieve *Sieve
	// path is the path of the request. It identifies the collection.
	path string
	// isWhole is whether the response begins with every object of the collection.
	isWhole bool
	round   int
}

// pieces are a text that is made as it is read.
type pieces struct {
	ready bytes.Buffer
	// next adds one piece. It returns io.EOF if there is none.
	next func(to *bytes.Buffer) error
	err  error
}

func (p *pieces) read(into []byte) (int, error) {
	for p.ready.Len() == 0 && p.err == nil {
		p.err = p.next(&p.ready)
	}
	if p.ready.Len() == 0 {
		return 0, p.err
	}
	return p.ready.Read(into)
}

// event is one event of a watch.
type event struct {
	Type   watch.EventType `json:"type"`
	Object json.RawMessage `json:"object"`
}

// watch returns the events of a watch, a piece each.
func (s *source) watch(from io.Reader) *pieces {
	s.begin()
	decoder := json.NewDecoder(from)
	return &pieces{next: func(to *bytes.Buffer) error {
		var e event
		if err := decoder.Decode(&e); err != nil {
			return err
		}
		e = s.sieved(e)
		to.WriteString(`{"type":"` + string(e.Type) + `","object":`)
		to.Write(e.Object)
		to.WriteString("}\n")
		return nil
	}}
}

// sieved returns the event as a client can decode it.
func (s *source) sieved(e event) event {
	switch e.Type {
	case watch.Error:
		return e
	case watch.Bookmark:
		if s.isWhole && isEndOfInitialEvents(e.Object) {
			s.sieve.skipped.sweep(s.path, s.round)
		}
		return e
	}
	uid, skipped := s.sieve.check(e.Object)
	switch {
	case skipped == nil:
		s.sieve.skipped.remove(s.path, uid)
		return e
	case e.Type == watch.Deleted:
		s.sieve.skipped.remove(s.path, skipped.UID)
	default:
		s.sieve.skipped.add(s.path, s.round, *skipped)
	}
	return event{watch.Deleted, skipped.identity()}
}

// isEndOfInitialEvents reports whether the bookmark follows the last of the objects that a watch begins with.
func isEndOfInitialEvents(bookmark []byte) bool {
	var object metav1.PartialObjectMetadata
	return json.Unmarshal(bookmark, &object) == nil && object.Annotations[metav1.InitialEventsAnnotationKey] == "true"
}

// list returns the fields of a JSON object, and of the field items each item, a piece each. Other objects than lists pass through as they are.
func (s *source) list(from io.Reader) *pieces {
	s.begin()
	l := &listing{source: s, decoder: json.NewDecoder(from)}
	return &pieces{next: l.next}
}

func (s *source) begin() {
	if s.isWhole {
		s.round = s.sieve.skipped.begin()
	}
}

// listing is a list that is read.
type listing struct {
	*source

	decoder *json.Decoder
	// place is where the decoder is.
	place place
	// comma is whether something stands before what comes next.
	comma bool
}

// place is a part of a JSON list.
type place int

const (
	beforeFields place = iota
	amongFields
	amongItems
	afterFields
)

func (l *listing) next(to *bytes.Buffer) error {
	var err error
	switch l.place {
	case beforeFields:
		return l.open(to)
	case amongFields:
		err = l.field(to)
	case amongItems:
		err = l.item(to)
	default:
		return io.EOF
	}
	if errors.Is(err, io.EOF) { // or half a list would look like a whole one
		return io.ErrUnexpectedEOF
	}
	return err
}

// open reads the beginning of the list.
func (l *listing) open(to *bytes.Buffer) error {
	token, err := l.decoder.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('{') {
		return errors.New("the response is JSON, but not an object")
	}
	to.WriteByte('{')
	l.place = amongFields
	return nil
}

// field reads a field other than the items whole, of the items the beginning.
func (l *listing) field(to *bytes.Buffer) error {
	if !l.decoder.More() {
		return l.close(to, '}', afterFields)
	}
	key, err := l.decoder.Token()
	if err != nil {
		return err
	}
	l.separate(to)
	name, err := json.Marshal(key)
	if err != nil {
		return err
	}
	to.Write(name)
	to.WriteByte(':')
	if key == "items" {
		return l.openItems(to)
	}
	var value json.RawMessage
	if err := l.decoder.Decode(&value); err != nil {
		return err
	}
	to.Write(value)
	if key == "metadata" && isContinued(value) {
		l.isWhole = false
	}
	return nil
}

// openItems reads the beginning of the items, or what stands in their place: null, or another field of that name.
func (l *listing) openItems(to *bytes.Buffer) error {
	token, err := l.decoder.Token()
	switch {
	case err != nil:
		return err
	case token == json.Delim('['):
		to.WriteByte('[')
		l.place, l.comma = amongItems, false
		return nil
	case token == nil:
		to.WriteString("null")
		return nil
	default:
		return errors.New("the response has a field items that is no list")
	}
}

// item reads an item, and leaves it out if Go cannot decode it.
func (l *listing) item(to *bytes.Buffer) error {
	if !l.decoder.More() {
		return l.close(to, ']', amongFields)
	}
	var raw json.RawMessage
	if err := l.decoder.Decode(&raw); err != nil {
		return err
	}
	uid, skipped := l.sieve.check(raw)
	if skipped != nil {
		l.sieve.skipped.add(l.path, l.round, *skipped)
		return nil
	}
	l.sieve.skipped.remove(l.path, uid)
	l.separate(to)
	to.Write(raw)
	return nil
}

// close reads the end of the items or of the list.
func (l *listing) close(to *bytes.Buffer, end byte, next place) error {
	if _, err := l.decoder.Token(); err != nil {
		return err
	}
	to.WriteByte(end)
	l.place, l.comma = next, true
	if next == afterFields && l.isWhole {
		l.sieve.skipped.sweep(l.path, l.round)
	}
	return nil
}

func (l *listing) separate(to *bytes.Buffer) {
	if l.comma {
		to.WriteByte(',')
	}
	l.comma = true
}

// isContinued reports whether more items follow on the next page, by the list's metadata.
func isContinued(metadata []byte) bool {
	var list metav1.ListMeta
	return json.Unmarshal(metadata, &list) == nil && strings.TrimSpace(list.Continue) != ""
}
