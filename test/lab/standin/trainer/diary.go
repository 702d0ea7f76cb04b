package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// diary is where the rank writes down what it lives through; nil if it keeps none.
var diary *os.File

// openDiary opens the rank's diary in the folder that DIARY names, which all nodes share, and locks it until this process is gone,
// however that comes about. If another process of the rank holds the lock, two of them live at once: it says so.
func openDiary() error {
	folder := os.Getenv("DIARY")
	if folder == "" {
		return nil
	}
	rank, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("naming the diary: %w", err)
	}
	if diary, err = os.OpenFile(filepath.Join(folder, rank), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644); err != nil {
		return fmt.Errorf("opening the diary: %w", err)
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	switch err := unix.FcntlFlock(diary.Fd(), unix.F_OFD_SETLK, &lock); {
	case err == nil:
		note("starts")
	case errors.Is(err, unix.EAGAIN):
		note("overlaps")
	default:
		return fmt.Errorf("locking the diary: %w", err)
	}
	return nil
}

// note writes a line: when, in which attempt, in which pod, what.
func note(what string) {
	if diary != nil {
		fmt.Fprintf(diary, "%s %s %s %s\n", time.Now().UTC().Format(time.RFC3339Nano), env("TRAININGJOB_ATTEMPT", "-"), env("POD_UID", "-"), what)
	}
}
