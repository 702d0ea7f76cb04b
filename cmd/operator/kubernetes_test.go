package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// kubernetes is an API server that answers with its version, or not at all.
type kubernetes string

func (s kubernetes) ServerVersion() (*apiversion.Info, error) {
	if s == "" {
		return nil, errors.New("it is not there")
	}
	return &apiversion.Info{GitVersion: string(s)}, nil
}

func TestTheLogTellsWhichKubernetesThisIs(t *testing.T) {
	for _, c := range []struct {
		is   kubernetes
		want []string
	}{
		{"v1.36.3", []string{"level=INFO", "kubernetes=v1.36.3", "is tested"}},
		{"v1.33.1", []string{"level=WARN", "Kubernetes v1.33.1 is older than 1.34", "upgrade the cluster"}},
		{"v1.99.0", []string{"level=WARN", "is newer than", "look for a newer operator"}},
		{"", []string{"level=WARN", "reading the version of Kubernetes: it is not there"}},
	} {
		var out bytes.Buffer
		tellKubernetes(c.is, logr.FromSlogHandler(slog.NewTextHandler(&out, nil)))
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q: got %q, want %q in it", c.is, out.String(), want)
			}
		}
	}
}
