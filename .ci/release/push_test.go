//go:build dist

package main

import (
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// A registry keeps the image under the digest that install.yaml names.
func TestARegistryTakesTheImages(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	for _, program := range []string{"operator", "kueue-adapter"} {
		images, digest := index(t, program)
		repository := strings.TrimPrefix(server.URL, "http://") + "/team/" + program
		tag, err := name.NewTag(repository + ":v1")
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.WriteIndex(tag, images); err != nil {
			t.Fatalf("pushing %s: %v", program, err)
		}
		pinned, err := name.NewDigest(repository + "@" + digest)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := remote.Index(pinned); err != nil {
			t.Errorf("the registry does not have %s: %v", pinned, err)
		}
	}
}
