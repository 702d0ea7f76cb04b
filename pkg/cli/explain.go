package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/trainingjob/operator/pkg/cli/rights"
)

// explain returns an error as a sentence with the next step.
func explain(err error, flags *genericclioptions.ConfigFlags) string {
	var dial *net.OpError
	var dns *net.DNSError
	switch text := err.Error(); {
	case clientcmd.IsEmptyConfig(err), strings.Contains(text, "no configuration has been provided"):
		return "there is no cluster: no kubeconfig names one. Set KUBECONFIG, or give --kubeconfig FILE."
	case strings.Contains(text, "context") && (clientcmd.IsContextNotFound(err) || strings.Contains(text, "does not exist")):
		return sentence(text) + contexts(flags)
	case strings.Contains(text, "the server could not find the requested resource") && strings.Contains(text, "pods/"): // a kubelet answered
		return "the node does not have it: fake nodes (kwok) have no logs and no pages of pods, and a kubelet can have lost the pod. On a lab use REAL=2. (" + text + ")"
	case meta.IsNoMatchError(err), strings.Contains(text, "the server could not find the requested resource"):
		return "the cluster does not know TrainingJobs: an administrator must install the CRD and the operator, as docs/install.md shows. (" + text + ")"
	case apierrors.IsUnauthorized(err):
		return "the cluster does not know who you are: log in again, or give another context with --context. (" + text + ")"
	case apierrors.IsForbidden(err):
		return forbidden(text)
	case apierrors.IsTooManyRequests(err):
		return "the API server is too busy (429) and went on refusing: wait a while and try again. (" + text + ")"
	case errors.As(err, &dns):
		return "the cluster's address is not known: " + sentence(dns.Error()) + " Check the server in your kubeconfig, or give --context."
	case errors.As(err, &dial):
		return "the cluster does not answer: " + sentence(dial.Error()) + " Is it up, and is --context the right one?"
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), errors.Is(err, context.DeadlineExceeded):
		return "the cluster did not answer in time: try again, or give a longer --request-timeout. (" + text + ")"
	default:
		return sentence(oneLine(text))
	}
}

// oneLine returns a text on one line, without the address of a log that the API server could not read.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")), " ")
	return unreachable.ReplaceAllString(text, "the API server does not reach the kubelet at $1, which has the log ($2)")
}

// unreachable matches the API server's answer when a kubelet that has a log does not answer it.
var unreachable = regexp.MustCompile(`Get "https://([^/"]+)/containerLogs/[^"]*": (.*)`)

// forbidden names the missing right and a role that has it. What admission forbids has words of its own.
func forbidden(text string) string {
	right, namespace, ok := rights.Denied(text)
	if !ok {
		return sentence(text)
	}
	where := "in all namespaces"
	if namespace != "" {
		where = "in namespace " + namespace
	}
	ask := "ask an administrator for this right"
	if role := right.Role(); role != "" {
		ask = "ask an administrator for the ClusterRole " + role
	}
	return fmt.Sprintf("you may not %s %s: %s, and see with kubectl tj doctor what else is missing.", right, where, ask)
}

// sentence ends a text with a full stop.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// contexts names the contexts that the kubeconfig has.
func contexts(flags *genericclioptions.ConfigFlags) string {
	config, err := flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil || len(config.Contexts) == 0 {
		return ""
	}
	return fmt.Sprintf(" Your kubeconfig has: %s.", strings.Join(slices.Sorted(maps.Keys(config.Contexts)), ", "))
}
