package realnode

import (
	"errors"
	"os"
)

// Check returns an error that says what to do instead if this machine cannot have real nodes.
func Check() error {
	if os.Geteuid() != 0 {
		return errors.New("real nodes need root, for namespaces, mounts and links: run it with sudo, or use --real 0")
	}
	return checkCgroups()
}
