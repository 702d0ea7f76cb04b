package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
	"k8s.io/client-go/rest"

	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/bench/results"
)

// lenders are the controllers of Kubernetes that make pods for others, as the user agents of their requests end.
var lenders = []string{"/job-controller", "/statefulset-controller"}

// meter measures what a contender costs from one moment to another.
type meter struct {
	lab       *testbed.Lab
	admin     *rest.Config
	contender contender
	// audited is how far the audit log has been read.
	audited       int64
	own, borrowed int
	processes     []procfs.Proc
	cpu           float64
	etcd, watched float64
}

// newMeter starts to measure.
func (s *sideBySide) newMeter(ctx context.Context, c contender) (*meter, error) {
	m := &meter{lab: s.lab, admin: s.admin, contender: c}
	info, err := os.Stat(s.lab.File("audit.log"))
	if err != nil {
		return nil, fmt.Errorf("looking for the audit log: %w", err)
	}
	m.audited = info.Size()
	if m.processes, err = s.processesOf(c); err != nil {
		return nil, err
	}
	for _, p := range m.processes {
		// Linux forgets the peak of resident memory so far.
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.PID), []byte("5"), 0o200); err != nil {
			return nil, fmt.Errorf("resetting the peak of memory: %w", err)
		}
	}
	if m.cpu, _, err = m.used(); err != nil {
		return nil, err
	}
	m.etcd, m.watched, err = m.written(ctx)
	return m, err
}

// processesOf returns the processes of the contender's controllers; none if they are Kubernetes' own.
func (s *sideBySide) processesOf(c contender) ([]procfs.Proc, error) {
	var state struct {
		Processes []struct {
			Name string
			PID  int
		}
	}
	if err := s.lab.ReadState(&state); err != nil {
		return nil, err
	}
	var found []procfs.Proc
	for _, p := range state.Processes {
		if !slices.Contains(c.processes, p.Name) {
			continue
		}
		process, err := procfs.NewProc(p.PID)
		if err != nil {
			return nil, fmt.Errorf("looking for %s: %w", p.Name, err)
		}
		found = append(found, process)
	}
	return found, nil
}

// used returns the seconds of CPU that the processes have used, and the sum of their peaks of resident memory in bytes.
func (m *meter) used() (cpu, peak float64, err error) {
	for _, p := range m.processes {
		stat, err := p.Stat()
		if err != nil {
			return 0, 0, fmt.Errorf("reading what process %d has used: %w", p.PID, err)
		}
		status, err := p.NewStatus()
		if err != nil {
			return 0, 0, fmt.Errorf("reading what process %d has used: %w", p.PID, err)
		}
		cpu, peak = cpu+stat.CPUTime(), peak+float64(status.VmHWM)
	}
	return cpu, peak, nil
}

// written returns the bytes that etcd has written to its log, and those that the API server has sent to all watchers.
func (m *meter) written(ctx context.Context) (etcd, watched float64, err error) {
	var state struct{ Ports struct{ Etcd int } }
	if err := m.lab.ReadState(&state); err != nil {
		return 0, 0, err
	}
	ofEtcd, err := families(ctx, http.DefaultClient, fmt.Sprintf("http://127.0.0.1:%d/metrics", state.Ports.Etcd))
	if err != nil {
		return 0, 0, err
	}
	administrator, err := rest.HTTPClientFor(m.admin)
	if err != nil {
		return 0, 0, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	ofServer, err := families(ctx, administrator, m.admin.Host+"/metrics")
	if err != nil {
		return 0, 0, err
	}
	for _, metric := range ofServer["apiserver_watch_events_sizes"].GetMetric() {
		watched += metric.GetHistogram().GetSampleSum()
	}
	return sum(ofEtcd["etcd_disk_wal_write_bytes_total"], nil), watched, nil
}

// families reads the metrics at a URL.
func families(ctx context.Context, client *http.Client, url string) (map[string]*dto.MetricFamily, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	found, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading metrics of %s: %w", url, err)
	}
	return found, nil
}

// read counts the requests since it was called last.
func (m *meter) read() error {
	requests, end, err := m.lab.RequestsSince(m.audited, "", func(r *testbed.Request) bool {
		// Leases are renewed whatever there is to do.
		return r.Verb != "watch" && r.ObjectRef.Resource != "" && r.ObjectRef.Resource != "leases"
	})
	if err != nil {
		return err
	}
	m.audited = end
	for _, r := range requests {
		switch {
		case slices.ContainsFunc(m.contender.asks, func(who string) bool {
			return strings.HasPrefix(r.User.Username, who) || strings.HasPrefix(r.UserAgent, who)
		}):
			m.own++
		case slices.ContainsFunc(lenders, func(who string) bool { return strings.HasSuffix(r.UserAgent, who) }):
			m.borrowed++
		}
	}
	return nil
}

// settle waits until no request of the contender has come for a while, and no longer than longest: some ask at rest, too.
func (m *meter) settle(ctx context.Context, longest time.Duration) error {
	for begin := time.Now(); time.Since(begin) < longest; {
		before := m.own + m.borrowed
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(quiet):
		}
		if err := m.read(); err != nil {
			return err
		}
		if m.own+m.borrowed == before {
			return nil
		}
	}
	return nil
}

// cost returns what was spent since newMeter.
func (m *meter) cost(ctx context.Context) (results.Cost, error) {
	if err := m.read(); err != nil {
		return results.Cost{}, err
	}
	cpu, peak, err := m.used()
	if err != nil {
		return results.Cost{}, err
	}
	etcd, watched, err := m.written(ctx)
	if err != nil {
		return results.Cost{}, err
	}
	const mega = 1e6
	return results.Cost{
		Requests: m.own, Borrowed: m.borrowed, CPUSeconds: cpu - m.cpu, PeakMB: peak / mega,
		EtcdMB: (etcd - m.etcd) / mega, WatchMB: (watched - m.watched) / mega,
	}, nil
}
