package main

import (
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/client-go/discovery"

	"github.com/trainingjob/operator/pkg/support"
)

// tellKubernetes logs the cluster's version, as a warning if the operator is not tested on it. It runs all the same: what fails then
// says so itself.
func tellKubernetes(server discovery.ServerVersionInterface, log logr.Logger) {
	warn := slog.New(logr.ToSlogHandler(log)).Warn
	found, err := server.ServerVersion()
	switch {
	case err != nil:
		warn(fmt.Sprintf("asking for the version of Kubernetes: %v", err))
	case support.Warning(found.GitVersion) != "":
		warn(support.Warning(found.GitVersion), "kubernetes", found.GitVersion)
	default:
		log.Info("the operator is tested on this version of Kubernetes", "kubernetes", found.GitVersion)
	}
}
