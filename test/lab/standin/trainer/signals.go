package main

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// onTerm ends the program on SIGTERM, as TERM_CODE and TERM_TIME say.
func onTerm() {
	received := make(chan os.Signal, 1)
	signal.Notify(received, syscall.SIGTERM)
	for range received {
		say("got SIGTERM")
		note("SIGTERM")
		code, err := strconv.Atoi(env("TERM_CODE", "143"))
		if err != nil {
			continue // ignore
		}
		pause, _ := time.ParseDuration(env("TERM_TIME", "0s"))
		time.Sleep(pause)
		end(code, "")
	}
}
