package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// mark is in the environment of each process that was started with a log in the folder.
func mark(folder string) string { return "TRAININGJOB_LAB_PROCESS_OF=" + folder }

// StartedIn returns the processes that Start has started with a log in the folder and that still run: also one whose starter was killed before
// it could write down what it had started.
func StartedIn(folder string) ([]Process, error) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var found []Process
	for _, file := range files {
		environment, err := os.ReadFile(file)
		if err != nil || !hasLine(environment, mark(folder)) {
			continue // another user's, or it has just ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if group, err := syscall.Getpgid(pid); err != nil || group != pid {
			continue // a child of such a process, which ends with its group
		}
		stat, err := readStat(pid)
		arguments, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		p := Process{Name: firstOf(arguments), PID: pid, StartTicks: stat.startTicks}
		if err == nil && p.Alive() {
			found = append(found, p)
		}
	}
	return found, nil
}

// hasLine reports whether one of the strings, each ended by a zero, is the wanted one.
func hasLine(strings []byte, wanted string) bool {
	return bytes.Contains(append([]byte{0}, strings...), []byte("\x00"+wanted+"\x00"))
}

// firstOf is the first of the strings, which Start has made the name of the program.
func firstOf(arguments []byte) string {
	name, _, _ := strings.Cut(string(arguments), "\x00")
	return name
}
