package process

import (
	"fmt"
	"syscall"
	"time"
)

const (
	politeTime = 2 * time.Second
	killTime   = 10 * time.Second
)

// Stop ends the process and everything in its session's process group: SIGTERM, after two
// seconds SIGKILL. It returns an error if the process is there even then, and does
// nothing if it was gone already.
func (p Process) Stop() error {
	if p.signal(syscall.SIGTERM); p.goneWithin(politeTime) {
		return nil
	}
	return p.Kill()
}

// Kill ends the process and its group with SIGKILL, as Stop does with what does not listen. It returns an error if the
// process is there even then.
func (p Process) Kill() error {
	if p.signal(syscall.SIGKILL); p.goneWithin(killTime) {
		return nil
	}
	return fmt.Errorf("%s (pid %d) is still there after SIGKILL", p.Name, p.PID)
}

func (p Process) signal(signal syscall.Signal) {
	if p.Alive() {
		// Start made it a session leader, so its group has its pid. What can go wrong
		// here (it has just left) shows in the wait that follows.
		_ = syscall.Kill(-p.PID, signal)
	}
}

func (p Process) goneWithin(bound time.Duration) bool {
	for end := time.Now().Add(bound); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if !p.Alive() {
			return true
		}
	}
	return !p.Alive()
}
