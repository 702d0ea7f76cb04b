// Package sieve keeps objects that Go cannot decode out of lists and watches.
//
// A custom resource is stored as the schema of its CRD allows, not as Go decodes it. client-go decodes a list as a
// whole, so one object that Go cannot decode would hide all others of its kind, in every namespace.
//
// Sieve sits in the transport of a client. It decodes each item of a JSON list and each event of a JSON watch once by
// itself. An item that fails is left out of the list. An event that fails becomes the deletion of its object, so no
// cache keeps a version that is out of date. Protobuf passes: only the built-in kinds use it, and the API server itself
// decodes these with the same types.
package sieve
