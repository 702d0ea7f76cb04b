package cluster

import (
	"context"
	"fmt"
)

// volcanoPeer is the add-on volcano, with its scheduler, as a peer. Its admission webhooks are another program, which the lab does not have.
type volcanoPeer struct{}

func (volcanoPeer) processes() []string {
	return []string{"volcano-controller-manager", "volcano-scheduler"}
}

func (volcanoPeer) install(ctx context.Context, l *lab, _ program) error {
	for _, a := range addons() {
		if a.name == "volcano" {
			return l.installCRDsOf(ctx, a)
		}
	}
	return nil
}

func (volcanoPeer) start(ctx context.Context, l *lab, program program, speed Speed, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("--arg %s: Volcano is two programs, and takes no further arguments", args[0])
	}
	return l.startVolcanoAt(ctx, program, volcanoSpeeds[speed])
}

func (volcanoPeer) stop(context.Context, *lab) error { return nil }
