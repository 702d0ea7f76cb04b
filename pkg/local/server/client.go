package server

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Client is a client.Client that reads with its Reader and writes by sending requests.
type Client struct {
	*Reader
	// Send does a request. waits is whether the client's reads must show it, as the manager's client promises.
	Send func(r *Request, waits bool) (client.Object, error)
}

// Client returns a client of the server that is never behind.
func (s *Server) Client(user string) *Client {
	return &Client{Reader: &Reader{Source: s.Truth()}, Send: func(r *Request, _ bool) (client.Object, error) {
		r.User = user
		return s.Do(r)
	}}
}

var _ client.Client = &Client{}

// errNoWay is the answer to requests that the operator never makes.
var errNoWay = errors.New("the server in memory has no such request")

func request(verb Verb, o client.Object) *Request {
	return &Request{Verb: verb, Kind: KindOf(o), Key: client.ObjectKeyFromObject(o)}
}

// send sends the request and copies the answer into o.
func (c *Client) send(r *Request, waits bool, o client.Object) error {
	answer, err := c.Send(r, waits)
	if err == nil {
		copyInto(o, answer)
	}
	return err
}

// Create creates the object and completes it.
func (c *Client) Create(_ context.Context, o client.Object, options ...client.CreateOption) error {
	r := request(Create, o)
	r.Object = clone(o)
	return c.send(r, !(&client.CreateOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency, o)
}

// Update updates the object, without its status.
func (c *Client) Update(_ context.Context, o client.Object, options ...client.UpdateOption) error {
	r := request(Update, o)
	r.Object = clone(o)
	return c.send(r, !(&client.UpdateOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency, o)
}

// Patch does a merge patch of the object, JSON or strategic, without its status.
func (c *Client) Patch(_ context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	r := request(Patch, o)
	r.Patch, r.Strategic = data, patch.Type() == types.StrategicMergePatchType
	return c.send(r, !(&client.PatchOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency, o)
}

// Delete deletes the object.
func (c *Client) Delete(_ context.Context, o client.Object, options ...client.DeleteOption) error {
	given := (&client.DeleteOptions{}).ApplyOptions(options)
	r := request(Delete, o)
	r.Delete = *given.AsDeleteOptions()
	_, err := c.Send(r, !given.DisableReadYourWritesConsistency)
	return err
}

// DeleteAllOf is not offered.
func (c *Client) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errNoWay
}

// Apply is not offered.
func (c *Client) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errNoWay
}

// Status returns the writer of the status subresource.
func (c *Client) Status() client.SubResourceWriter { return statusWriter{client: c} }

// SubResource is not offered; its methods panic.
func (c *Client) SubResource(string) client.SubResourceClient { return nil }

// Scheme returns the scheme of the kinds that a cluster may not serve.
func (c *Client) Scheme() *runtime.Scheme { return optional }

// RESTMapper is not offered.
func (c *Client) RESTMapper() meta.RESTMapper { return nil }

// GroupVersionKindFor is not offered.
func (c *Client) GroupVersionKindFor(runtime.Object) (schema.GroupVersionKind, error) {
	return schema.GroupVersionKind{}, errNoWay
}

// IsObjectNamespaced is not offered.
func (c *Client) IsObjectNamespaced(runtime.Object) (bool, error) { return false, errNoWay }

// statusWriter writes the status subresource.
type statusWriter struct{ client *Client }

// Create is not offered.
func (statusWriter) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return errNoWay
}

// Apply is not offered.
func (statusWriter) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errNoWay
}

// Update updates the status of the object.
func (w statusWriter) Update(_ context.Context, o client.Object, options ...client.SubResourceUpdateOption) error {
	r := request(Update, o)
	r.Status, r.Object = true, clone(o)
	return w.client.send(r, !(&client.SubResourceUpdateOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency, o)
}

// Patch does a merge patch of the status of the object.
func (w statusWriter) Patch(_ context.Context, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	r := request(Patch, o)
	r.Status, r.Patch = true, data
	return w.client.send(r, !(&client.SubResourcePatchOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency, o)
}
