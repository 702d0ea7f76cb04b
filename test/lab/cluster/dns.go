package cluster

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"text/template"

	"github.com/trainingjob/operator/test/lab/process"
)

//go:embed Corefile
var corefile string

// startDNS starts CoreDNS, a process of this machine, for the pods of real nodes.
func (l *lab) startDNS(ctx context.Context) error {
	if l.state.Real == nil {
		return nil
	}
	program, err := beside("coredns")
	if err != nil {
		return err
	}
	ports, err := l.state.Ports.more(1)
	if err != nil {
		return err
	}
	parsed, err := template.New("Corefile").Parse(corefile)
	if err != nil {
		return fmt.Errorf("reading the template of the Corefile: %w", err)
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, map[string]any{
		"Address": l.state.Real.Block.Gateway(), "Kubeconfig": l.dir.kubeconfig(), "Ready": local(ports[0]),
	}); err != nil {
		return fmt.Errorf("writing the Corefile: %w", err)
	}
	if err := os.WriteFile(l.dir.file("Corefile"), text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the Corefile: %w", err)
	}
	return l.start(ctx, component{
		Program: process.Program{Name: "coredns", Path: program, Args: []string{"-conf", l.dir.file("Corefile")}, Log: l.dir.file("coredns.log")},
		health:  process.Health{URL: "http://" + local(ports[0]) + "/ready", Within: startTime},
	})
}
