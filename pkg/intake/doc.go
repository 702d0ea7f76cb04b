// Package intake guards what the API server sends to the caches.
//
// A custom resource is stored as the schema of its CRD allows, not as Go decodes it. client-go decodes a list as a
// whole, so one object that Go cannot decode would hide all others of its kind, in every namespace. The package
// therefore does two things:
//
//   - Screen sits in the transport of every client. It decodes each item of a JSON list and each event of a JSON watch
//     once by itself. An item that fails is left out of the list. An event that fails becomes the deletion of its
//     object, so no cache keeps a version that is out of date. Protobuf passes: only the built-in kinds use it, and the
//     API server itself decodes these with the same types.
//
//   - Feeds records for each cached kind when its list or watch last worked and since when it fails. A process that
//     has been blind to a kind for a minute is not ready, and its metrics say which kind.
package intake
