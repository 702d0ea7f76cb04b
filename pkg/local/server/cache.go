package server

import (
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cache is a watching client's copy of the server's objects.
type Cache struct {
	// Heard, if set, is called with what the cache had of an object and what it has now, as its event handlers are: nil for an
	// object that is new to it, or gone from it.
	Heard func(kind Kind, was, is client.Object)

	server *Server
	views  [kinds]View
	stores [kinds]store
	at     [kinds]int
}

// View is what a cache holds of one kind.
type View struct {
	// Select chooses the objects; nil takes all.
	Select labels.Selector
	// Transform returns the kept part of an object, and does not change the object; nil keeps all of it.
	Transform func(any) (any, error)
}

// NewCache returns a cache with the views whose initial list of each kind is the given number of changes old. It does not
// pass them to Heard.
func (s *Server) NewCache(views map[Kind]View, age func(Kind) int) *Cache {
	c := &Cache{server: s}
	for _, kind := range Kinds {
		c.views[kind] = views[kind]
		if s.forgotten[kind] > 0 {
			c.begin(kind)
		}
		c.advance(kind, s.Length(kind)-age(kind))
	}
	return c
}

// begin takes in what there is of a kind whose log does not reach back to its beginning.
func (c *Cache) begin(kind Kind) {
	for _, o := range c.server.stores[kind].list() {
		c.take(kind, &Change{Kind: kind, Is: o})
	}
	c.at[kind] = c.server.Length(kind)
}

// Advance lets the cache take in n more changes of the kind, or as many as there are, and returns how many it took.
func (c *Cache) Advance(kind Kind, n int) int {
	return c.advance(kind, min(c.at[kind]+n, c.server.Length(kind)))
}

// Behind returns how many changes of the kind the cache has yet to take in.
func (c *Cache) Behind(kind Kind) int { return c.server.Length(kind) - c.at[kind] }

// Position returns how many changes of the kind the cache has taken in.
func (c *Cache) Position(kind Kind) int { return c.at[kind] }

// Get returns the object as cached, nil if there is none.
func (c *Cache) Get(kind Kind, key client.ObjectKey) client.Object { return c.stores[kind].get(key) }

// List returns the cached objects of the kind; neither they nor the slice may be changed.
func (c *Cache) List(kind Kind) []client.Object { return c.stores[kind].list() }

func (c *Cache) advance(kind Kind, to int) int {
	from := c.at[kind]
	for ; c.at[kind] < to; c.at[kind]++ {
		c.take(kind, &c.server.logs[kind][c.at[kind]-c.server.forgotten[kind]])
	}
	return c.at[kind] - from
}

// take takes one change in. An object that the selector no longer chooses is gone for the cache.
func (c *Cache) take(kind Kind, change *Change) {
	view := &c.views[kind]
	object := change.Is
	if object == nil {
		object = change.Was
	}
	key := client.ObjectKeyFromObject(object)
	was := c.stores[kind].get(key)
	var is client.Object
	if change.Is == nil || view.Select != nil && !view.Select.Matches(labels.Set(change.Is.GetLabels())) {
		c.stores[kind].drop(key)
	} else {
		is = view.keep(change.Is)
		c.stores[kind].put(is)
	}
	if c.Heard != nil && (was != nil || is != nil) {
		c.Heard(kind, was, is)
	}
}

func (v *View) keep(o client.Object) client.Object {
	if v.Transform == nil {
		return o
	}
	kept, err := v.Transform(o)
	if err != nil {
		panic(err) // the transform is the product's, and has no error to return
	}
	return kept.(client.Object)
}
