package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/trainingjob/operator/pkg/cli/logs"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Limits of reading the newest line of each rank: why must answer soon.
const (
	mostNewest   = 64
	newestAtOnce = 8
	newestWithin = 10 * time.Second
)

// addNewest adds to the view when each running replica printed its newest line, of the first mostNewest, with the user's rights.
func (c *connection) addNewest(ctx context.Context, t *tool, v *story.View) {
	s, err := v.Snapshot()
	if err != nil { // the verb returns it
		return
	}
	pods := map[string]string{}
	for i := range v.Pods {
		pods[v.Pods[i].Name] = state.MainContainer(&v.Pods[i])
	}
	var ranks []*state.Replica
	for r := range s.Replicas() {
		if r.State == state.Running && len(ranks) < mostNewest {
			ranks = append(ranks, r)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, newestWithin)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(newestAtOnce)
	lines := make([]time.Time, len(ranks))
	reader := &podLogs{open: c.log, namespace: v.Job.Namespace}
	for i, r := range ranks {
		group.Go(func() (err error) {
			lines[i], err = newest(ctx, reader, r.Pod.Name, pods[r.Pod.Name])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		v.LinesUnread = explain(err, t.flags)
		return
	}
	for i, r := range ranks {
		v.Newest = append(v.Newest, story.NewestLine{Replica: r.Slot.String(), Time: lines[i]})
	}
}

// newest returns when the container printed its newest line; zero if it has printed none.
func newest(ctx context.Context, reader *podLogs, pod, container string) (time.Time, error) {
	log, err := reader.Open(ctx, pod, container, logs.Options{Tail: 1})
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = log.Close() }() // only read from
	text, err := bufio.NewReader(log).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return time.Time{}, err
	}
	line, _ := logs.Parse(text) // without a time there is no line
	return line.Time, nil
}
