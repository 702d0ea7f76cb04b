package replay

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// server is an API server that has no pods and sends whoever watches them what is written to it.
type server struct {
	watched *io.PipeReader
	events  *io.PipeWriter
	// bytes is how much was sent.
	bytes int
}

func newServer() *server {
	watched, events := io.Pipe()
	return &server{watched: watched, events: events}
}

// RoundTrip answers the one watch.
func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	if query := request.URL.Query(); request.URL.Path != "/api/v1/pods" || query.Get("watch") == "" {
		err := fmt.Errorf("the cache asks for %s, of which nothing is recorded", request.URL)
		_ = s.watched.CloseWithError(err) // nobody will ever read what is sent
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: request, Body: s.watched,
		Header: http.Header{"Content-Type": {"application/vnd.kubernetes.protobuf;stream=watch"}},
	}, nil
}

// begin says that there are no pods so far. It waits until somebody watches.
func (s *server) begin(tb testing.TB) error {
	bookmark := &corev1.Pod{}
	bookmark.SetGroupVersionKind(podKind)
	bookmark.ResourceVersion, bookmark.Annotations = "1", map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	_, err := s.events.Write(encode(tb, watch.Bookmark, bookmark))
	return err
}

// send sends each of the frames for so many pods.
func (s *server) send(frames []frame, pods int) error {
	for _, f := range frames {
		for i := range pods {
			n, err := s.events.Write(f.of(firstIndex + i))
			s.bytes += n
			if err != nil {
				return err
			}
		}
	}
	return nil
}
