package sieve

import (
	"io"
	"mime"
	"net/http"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
)

// Sieve keeps objects that Go cannot decode out of lists and watches. It is safe for concurrent use.
type Sieve struct {
	decoder runtime.Decoder
	skipped ledger
}

// New returns a Sieve for the kinds of the scheme; other kinds pass. It calls found when it skips an object for the
// first time or for another reason than before. found must not block.
func New(scheme *runtime.Scheme, found func(Skipped)) *Sieve {
	codecs := serializer.NewCodecFactory(scheme)
	json, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	return &Sieve{decoder: json.Serializer, skipped: ledger{found: found}}
}

// Skipped returns the objects that were undecodable when they were last seen, sorted by kind, namespace and name.
func (s *Sieve) Skipped() []Skipped { return s.skipped.all() }

// Wrap returns a transport that sieves the answers of the next one. rest.Config.Wrap takes it.
func (s *Sieve) Wrap(next http.RoundTripper) http.RoundTripper { return transport{next, s} }

type transport struct {
	http.RoundTripper

	sieve *Sieve
}

// WrappedRoundTripper returns the next transport. client-go cancels requests through it.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err != nil || request.Method != http.MethodGet || response.StatusCode != http.StatusOK || !isJSON(response) {
		return response, err
	}
	query := request.URL.Query()
	source := &source{sieve: t.sieve, path: request.URL.Path}
	if watches, err := strconv.ParseBool(query.Get("watch")); err == nil && watches {
		source.isWhole = query.Get("sendInitialEvents") == "true"
		response.Body = newBody(response.Body, source.watch)
	} else {
		source.isWhole = query.Get("continue") == ""
		response.Body = newBody(response.Body, source.list)
	}
	response.ContentLength = -1
	response.Header.Del("Content-Length")
	return response, nil
}

// isJSON reports whether the body is one JSON value, or for a watch a sequence of them.
func isJSON(response *http.Response) bool {
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return err == nil && media == runtime.ContentTypeJSON
}

// check decodes an object. It returns its UID if Go can decode it, and otherwise what is known of it. An object of a kind that the
// scheme lacks, or without a kind, passes without a UID.
func (s *Sieve) check(raw []byte) (types.UID, *Skipped) {
	object, _, err := s.decoder.Decode(raw, nil, nil)
	switch {
	case err == nil:
		if o, err := meta.Accessor(object); err == nil {
			return o.GetUID(), nil
		}
		return "", nil
	case runtime.IsNotRegisteredError(err) || runtime.IsMissingKind(err) || runtime.IsMissingVersion(err):
		return "", nil
	default:
		return "", describe(raw, err)
	}
}

// body is a response's body that is rewritten piece by piece during the read.
type body struct {
	io.Closer

	pieces *pieces
}

// newBody returns the body that a write function makes of the original. The function writes one piece, and returns io.EOF after the last.
func newBody(original io.ReadCloser, start func(io.Reader) *pieces) io.ReadCloser {
	return body{original, start(original)}
}

func (b body) Read(p []byte) (int, error) { return b.pieces.read(p) }
