package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/trainingjob/operator/test/lab/realnode"
)

// done writes DIR/env, takes "lab up" out of the state and tells the user what there is.
func (l *lab) done(context.Context) error {
	if err := os.WriteFile(l.dir.file("env"), []byte(l.env()), 0o644); err != nil {
		return fmt.Errorf("writing the environment file: %w", err)
	}
	l.state.Up = nil
	if err := l.dir.writeState(l.state); err != nil {
		return err
	}
	l.say("the lab is up")
	fmt.Fprint(l.out, l.summary())
	return nil
}

// env is for a shell to source.
func (l *lab) env() string {
	var env strings.Builder
	set := func(name, value string) { fmt.Fprintf(&env, "export %s=%s\n", name, shellQuote(value)) }
	set("LAB_DIR", string(l.dir))
	set("KUBECONFIG", l.dir.kubeconfig())
	if pid, running := l.operatorPID(); running {
		set("OPERATOR_PID", fmt.Sprint(pid))
		set("OPERATOR_METRICS", l.metricsURL())
	}
	if l.adapterMetrics != "" {
		set("KUEUE_ADAPTER_METRICS", l.adapterMetrics)
	}
	fmt.Fprintf(&env, "export PATH=%s:\"$PATH\"\n", shellQuote(l.dir.file("bin")))
	return env.String()
}

func (l *lab) summary() string {
	var text strings.Builder
	fmt.Fprintf(&text, "\nKUBECONFIG=%s\n", l.dir.kubeconfig())
	if pid, running := l.operatorPID(); running {
		fmt.Fprintf(&text, "operator pid %d, log %s\nmetrics %s\n", pid, l.dir.file(operatorName+".log"), l.metricsURL())
	}
	if real := l.state.Real; real != nil {
		fmt.Fprintf(&text, "real nodes are for pods with the nodeSelector %s: \"true\"; their logs are in %s/%s*/root/var/log\n",
			realnode.RealLabel, l.dir, realPrefix)
	}
	fmt.Fprintf(&text, "\nfor your shell:  . %s\nto end it:       make lab-down   (or lab down --dir %s)\n",
		shellQuote(l.dir.file("env")), shellQuote(string(l.dir)))
	return text.String()
}

func (l *lab) metricsURL() string {
	return "http://" + local(l.state.Ports.OperatorMetrics) + "/metrics"
}

func (l *lab) operatorPID() (pid int, running bool) {
	for _, p := range l.state.Processes {
		if p.Name == operatorName {
			return p.PID, true
		}
	}
	return 0, false
}

// shellQuote leaves plain words alone, for readers that are no shells.
func shellQuote(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-:") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
