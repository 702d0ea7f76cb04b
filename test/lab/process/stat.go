package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// stat is what identifies a process in /proc/PID/stat (proc(5)).
type stat struct {
	state      string
	startTicks uint64
}

func readStat(pid int) (stat, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(line))
}

// parseStat reads fields 3 (state) and 22 (starttime). Field 2, the command's name, may
// itself hold spaces and parentheses, so counting begins after the last ")".
func parseStat(line string) (stat, error) {
	fields := strings.Fields(line[strings.LastIndex(line, ")")+1:])
	const state, startTime = 3 - 3, 22 - 3
	if len(fields) <= startTime {
		return stat{}, fmt.Errorf("%q is not a line of /proc/PID/stat", line)
	}
	ticks, err := strconv.ParseUint(fields[startTime], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("start time in %q: %w", line, err)
	}
	return stat{state: fields[state], startTicks: ticks}, nil
}

// Alive reports whether this very process still runs: its pid exists, was not handed to
// another process since, and is not a zombie that only waits to be reaped.
func (p Process) Alive() bool {
	stat, err := readStat(p.PID)
	return err == nil && stat.startTicks == p.StartTicks && stat.state != "Z" && stat.state != "X"
}

// Self is the calling process, under the given name.
func Self(name string) (Process, error) {
	stat, err := readStat(os.Getpid())
	if err != nil {
		return Process{}, fmt.Errorf("reading the start time of this process: %w", err)
	}
	return Process{Name: name, PID: os.Getpid(), StartTicks: stat.startTicks}, nil
}
