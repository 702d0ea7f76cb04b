package main

import (
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/client-go/discovery"

	"github.com/trainingjob/operator/pkg/operator/support"
)

// tellKubernetes logs the version of the cluster, as a warning if the operator is not tested with it. The operator runs anyway; failures
// report themselves.
func tellKubernetes(server discovery.ServerVersionInterface, log logr.Logger) {
	warn := slog.New(logr.ToSlogHandler(log)).Warn
	found, err := server.ServerVersion()
	switch {
	case err != nil:
		warn(fmt.Sprintf("reading the version of Kubernetes: %v", err))
	case support.Warning(found.GitVersion) != "":
		warn(support.Warning(found.GitVersion), "kubernetes", found.GitVersion)
	default:
		log.Info("the operator is tested on this version of Kubernetes", "kubernetes", found.GitVersion)
	}
}
