//go:build e2e

package api_test

import (
	"debug/elf"
	"os"
	"strings"
	"testing"
)

// The image is the operator's binary and nothing else, so the binary must need nothing else.
func TestTheOperatorBinaryIsStatic(t *testing.T) {
	binary, err := elf.Open("../../bin/operator")
	if err != nil {
		t.Fatalf("%v: run make build first", err)
	}
	defer func() { _ = binary.Close() }()
	for _, program := range binary.Progs {
		if program.Type == elf.PT_INTERP {
			t.Error("bin/operator needs a dynamic loader, which an image from scratch does not have")
		}
	}
}

// Docker is not needed to know that the image's binary is built as bin/operator is.
func TestTheDockerfileBuildsAsMakeDoes(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CGO_ENABLED=0", "go build", "-trimpath", "-s -w -X main.version=", "./cmd/operator", "cmd/kueue-adapter\n", "FROM scratch", "USER 65532"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the Dockerfile has no %q", want)
		}
	}
}
