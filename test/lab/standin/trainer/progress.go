package main

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// page is what the operator reads of a job with spec.progress.port.
type page struct {
	Time     time.Time `json:"time"`
	Step     int       `json:"step"`
	Attempt  int       `json:"attempt"`
	Life     int       `json:"life"`
	SavedFor string    `json:"savedFor,omitempty"`
}

var latest atomic.Pointer[page]

// savedFor is the request that the page answers.
var savedFor string

// report shows the step on the page.
func report(step int) {
	attempt, _ := strconv.Atoi(os.Getenv("TRAININGJOB_ATTEMPT"))
	life, _ := strconv.Atoi(os.Getenv("TRAININGJOB_LIFE"))
	latest.Store(&page{time.Now().UTC(), step, attempt, life, savedFor})
}

// serveProgress serves the page, if the job has one.
func serveProgress() {
	port := os.Getenv("TRAININGJOB_PROGRESS_PORT")
	if port == "" {
		return
	}
	report(0)
	listener, err := net.Listen("tcp", ":"+port)
	if err != nil {
		end(2, err.Error())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/progress", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(latest.Load()) })
	_ = http.Serve(listener, mux)
}
