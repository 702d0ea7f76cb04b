package folder

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/local/server"
)

// Client reads a run as an API server would show it: its job, its pods and its Events.
type Client struct {
	server.Client
	folder string

	mu    sync.Mutex
	state *State
	read  os.FileInfo
}

var _ client.WithWatch = &Client{}

// errReadOnly is the answer to a write.
var errReadOnly = errors.New("a local run takes no changes: break it by flags of kubectl tj run, and end it with Ctrl-C")

// Open returns a client of the run of that folder.
func Open(folder string) (*Client, error) {
	c := &Client{folder: folder}
	byName := func(o client.Object) []string { return []string{o.GetName()} }
	c.Client = server.Client{
		Reader: &server.Reader{Source: c.source(), Indexes: map[string]client.IndexerFunc{"metadata.name": byName}},
		Send:   func(*server.Request, bool) (client.Object, error) { return nil, errReadOnly },
	}
	_, err := c.State()
	return c, err
}

// State returns the state as it is now.
func (c *Client) State() (*State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	is, err := os.Stat(stateFile(c.folder))
	if err == nil && c.read != nil && os.SameFile(is, c.read) && is.ModTime().Equal(c.read.ModTime()) { // each write makes a new file
		return c.state, nil
	}
	s, err := Read(c.folder)
	if err == nil {
		c.state, c.read = s, is
	}
	return s, err
}

// source shows the state to a server.Reader.
type source struct{ client *Client }

func (c *Client) source() server.Source { return source{c} }

// Get returns the object; nil if there is none.
func (s source) Get(kind server.Kind, key client.ObjectKey) client.Object {
	all := s.List(kind)
	at := slices.IndexFunc(all, func(o client.Object) bool { return client.ObjectKeyFromObject(o) == key })
	if at < 0 {
		return nil
	}
	return all[at]
}

// List returns the objects of the kind.
func (s source) List(kind server.Kind) []client.Object {
	state, err := s.client.State()
	if err != nil {
		return nil // the folder was there when the client was made, and may be removed at any time
	}
	var all []client.Object
	switch kind {
	case server.Jobs:
		all = append(all, state.Job)
	case server.Pods:
		for i := range state.Pods {
			all = append(all, &state.Pods[i])
		}
	}
	return all
}

// List lists jobs, pods, or the Events about an object.
func (c *Client) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	events, isEvents := list.(*corev1.EventList)
	if !isEvents {
		return c.Client.List(ctx, list, options...)
	}
	state, err := c.State()
	if err != nil {
		return err
	}
	o := (&client.ListOptions{}).ApplyOptions(options)
	for i := range state.Events {
		about := string(state.Events[i].InvolvedObject.UID)
		if uid, found := requiredUID(o); !found || uid == about {
			events.Items = append(events.Items, state.Events[i])
		}
	}
	return nil
}

func requiredUID(o *client.ListOptions) (string, bool) {
	if o.FieldSelector == nil {
		return "", false
	}
	return o.FieldSelector.RequiresExactMatch("involvedObject.uid")
}

// pollEvery is how often a watch reads the state.
const pollEvery = 200 * time.Millisecond

// Watch sends the listed objects, and then each change. After the end of a run whose job has not finished all objects are gone.
func (c *Client) Watch(ctx context.Context, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
	events := make(chan watch.Event)
	watcher := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		known := map[types.NamespacedName]client.Object{}
		for {
			found, err := c.objects(ctx, list, options)
			if err != nil {
				return
			}
			for _, e := range changes(known, found) {
				select {
				case events <- e:
				case <-watcher.StopChan():
					return
				}
			}
			select {
			case <-time.After(pollEvery):
			case <-watcher.StopChan():
				return
			}
		}
	}()
	return watcher, nil
}

// objects returns what a watch shows now.
func (c *Client) objects(ctx context.Context, like client.ObjectList, options []client.ListOption) (map[types.NamespacedName]client.Object, error) {
	state, err := c.State()
	if err != nil {
		return nil, err
	}
	found := map[types.NamespacedName]client.Object{}
	if !state.IsFinished() && !state.IsAlive() {
		return found, nil
	}
	list, _ := like.DeepCopyObject().(client.ObjectList) // a copy has the same type
	if err := c.List(ctx, list, options...); err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	for _, item := range items {
		if o, is := item.(client.Object); is {
			found[client.ObjectKeyFromObject(o)] = o
		}
	}
	return found, err
}

// changes returns the events between what was known and what is found, and notes what is found as known.
func changes(known, found map[types.NamespacedName]client.Object) []watch.Event {
	var events []watch.Event
	for key, o := range known {
		if found[key] == nil {
			events = append(events, watch.Event{Type: watch.Deleted, Object: o})
			delete(known, key)
		}
	}
	for key, o := range found {
		if was := known[key]; was == nil || !equality.Semantic.DeepEqual(was, o) { // the progress of the job has no version
			events = append(events, watch.Event{Type: watch.Modified, Object: o})
			known[key] = o
		}
	}
	return events
}
