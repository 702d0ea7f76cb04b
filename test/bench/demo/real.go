package main

import (
	"bufio"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

const (
	helloPS = "hello-ps"
	// volume is the file server's part: a folder that all nodes of the lab share.
	volume = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: hello-ps}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany]
  storageClassName: ""
  claimRef: {namespace: default, name: hello-ps}
  hostPath: {path: /shared/hello-ps, type: DirectoryOrCreate}
`
	// showEvery is how often the loss is printed.
	showEvery = 3 * time.Second
)

// train lets examples/hello-ps train on real nodes, and kills a worker and a parameter server on the way.
func (s *stage) train(ctx context.Context, l lab) error {
	s.exit = func(ctx context.Context, pod *corev1.Pod, _ string) error { return l.run(ctx, "pod", "kill", pod.Name) }
	if err := l.apply(ctx, "-", volume); err != nil {
		return err
	}
	fmt.Println()
	s.timeline.say("you", "apply", "kubectl apply -f examples/hello-ps/job.yaml")
	if err := l.apply(ctx, filepath.Join(s.examples, helloPS, "job.yaml"), ""); err != nil {
		return err
	}
	a := &act{stage: s, name: helloPS}
	if err := a.await(ctx, "runs", func(j *v1alpha1.TrainingJob) bool { return j.Status.Phase == v1alpha1.PhaseRunning }); err != nil {
		return err
	}
	loss := &curve{lab: l, timeline: s.timeline}
	return a.trainAndBreak(ctx, loss)
}

func (a *act) trainAndBreak(ctx context.Context, loss *curve) error {
	if err := loss.follow(ctx, a); err != nil {
		return err
	}
	if err := loss.awaitStep(ctx, 600); err != nil {
		return err
	}
	if err := a.breaks(ctx, "worker-1", "137", "worker-1"); err != nil {
		return err
	}
	if err := loss.awaitStep(ctx, 1200); err != nil {
		return err
	}
	if err := a.breaks(ctx, "ps-0", "137", "ps-0", "ps-1", "worker-0", "worker-1", "worker-2"); err != nil {
		return err
	}
	reached := loss.forget()
	if err := loss.follow(ctx, a); err != nil {
		return err
	}
	if err := loss.awaitStep(ctx, 1); err != nil {
		return err
	}
	saved, err := a.loaded(ctx, loss.lab, "ps-0")
	if err != nil {
		return err
	}
	// The servers save every 100 steps.
	if saved < reached-200 {
		return fmt.Errorf("%s was at step %d and goes on from step %d: not from its checkpoint", a.name, reached, saved)
	}
	a.timeline.say(a.name, "Resumed", fmt.Sprintf("goes on from the checkpoint of step %d: worker 0 had reached step %d", saved, reached))
	const what = "succeeds after 2 restarts in attempt 1"
	return a.await(ctx, what, func(j *v1alpha1.TrainingJob) bool {
		return j.Status.Phase == v1alpha1.PhaseSucceeded && j.Status.Restarts == 2 && j.Status.Attempt == 1
	})
}

// loaded returns the step of the checkpoint from which a parameter server has started. Workers may have gone on from there before worker 0 reports.
func (a *act) loaded(ctx context.Context, l lab, server string) (int, error) {
	pods, err := a.pods(ctx)
	if err != nil {
		return 0, err
	}
	said, err := l.kubectl(ctx, "logs", pods[a.name+"-"+server].Name).Output()
	if err != nil {
		return 0, fmt.Errorf("reading the log of %s: %w", server, err)
	}
	found := startsFrom.FindSubmatch(said)
	if found == nil {
		return 0, fmt.Errorf("%s reports no checkpoint: %s", server, said)
	}
	return strconv.Atoi(string(found[1]))
}

var startsFrom = regexp.MustCompile(`step=(\d+) starts from /`)

// curve is the loss as worker 0 tells it in its log.
type curve struct {
	lab      lab
	timeline *timeline
	mu       sync.Mutex
	// step is the last one of the pod that is followed, 0 if it has told none.
	step  int
	shown time.Time
}

var told = regexp.MustCompile(`step=(\d+) loss=(\S+)`)

// follow reads the log of the pod that worker 0 has now, until it ends.
func (c *curve) follow(ctx context.Context, a *act) error {
	pods, err := a.pods(ctx)
	if err != nil {
		return err
	}
	cmd := c.lab.kubectl(ctx, "logs", "--follow", pods[a.name+"-worker-0"].Name)
	log, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("reading the log of worker 0: %w", err)
	}
	go func() {
		for lines := bufio.NewScanner(log); lines.Scan(); {
			c.read(a.name, lines.Text())
		}
		_ = cmd.Wait() // the pod has ended, or the demo has
	}()
	return nil
}

func (c *curve) read(job, line string) {
	found := told.FindStringSubmatch(line)
	if found == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step, _ = strconv.Atoi(found[1])
	if time.Since(c.shown) >= showEvery {
		c.shown = time.Now()
		c.timeline.say(job, "trains", fmt.Sprintf("step %d, loss %s", c.step, found[2]))
	}
}

// forget is for a new attempt, whose log has told of no step yet. It returns the step that the one before has reached.
func (c *curve) forget() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	reached := c.step
	c.step = 0
	return reached
}

// awaitStep waits until the log tells of the step or a later one.
func (c *curve) awaitStep(ctx context.Context, step int) error {
	for {
		c.mu.Lock()
		now := c.step
		c.mu.Unlock()
		if now >= step {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until worker 0 tells of step %d (it is at %d): %w", step, now, ctx.Err())
		case <-time.After(look):
		}
	}
}
