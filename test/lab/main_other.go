//go:build !linux

// Lab needs Linux: it finds its processes in /proc.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "lab: the lab runs on Linux only; use a Linux machine, a virtual one will do")
	os.Exit(1)
}
