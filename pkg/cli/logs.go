package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/advice"
	"github.com/trainingjob/operator/pkg/cli/logs"
	"github.com/trainingjob/operator/pkg/job/state"
)

// logFlags are the flags of logs.
type logFlags struct {
	logs.Request
	since      time.Duration
	timestamps bool
	noPrefix   bool
}

func (t *tool) logsCommand() *cobra.Command {
	o := &logFlags{Request: logs.Request{Tail: -1}}
	cmd := &cobra.Command{
		Use: "logs NAME", Aliases: []string{"log"}, Args: jobNames(1, 1, 0), ValidArgsFunction: t.completeJobs(1),
		Short: "Print the logs of all replicas in one stream, by time",
		Long: `Print the logs of all replicas in one stream, by time, each line with its rank and attempt: "3 a1" is rank 3 in attempt 1, "3 a1r2" its
second restart alone there. Jobs with several roles show the replica's name too.

With --follow it waits for pods that are not there yet, goes on through restarts without losing or repeating a line,
and ends with the job. Its exit status is then the job's: 0 for success, else what the replica exited with that failed it.`,
		Example: `  kubectl tj logs mnist --rank 0,last --tail 20
  kubectl tj logs mnist --role Worker --attempt all --since 1h
  kubectl tj logs mnist --follow`,
		RunE: func(cmd *cobra.Command, args []string) error { return t.logs(cmd.Context(), args[0], o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.Ranks, "rank", "", "read these ranks only: 0,3-7,last")
	f.StringSliceVar(&o.Roles, "role", nil, "read replicas of these roles only")
	f.StringVar(&o.Attempt, "attempt", "", "read the existing pods of this attempt, or of all. Default: the present pods, and with --follow also new ones")
	f.BoolVar(&o.Previous, "previous", false, "read the lives before the present ones, as far as they are still there")
	f.DurationVar(&o.since, "since", 0, "leave out what is older: 10m")
	f.Int64Var(&o.Tail, "tail", -1, "print only so many lines of each replica, the latest")
	f.BoolVar(&o.timestamps, "timestamps", false, "print the time of each line")
	f.BoolVarP(&o.Follow, "follow", "f", false, "go on until the job has finished")
	f.StringVarP(&o.Container, "container", "c", "", "read this container of each pod. Default: the main one")
	f.BoolVar(&o.noPrefix, "no-prefix", false, "print the lines as they are")
	return cmd
}

func (t *tool) logs(ctx context.Context, name string, o *logFlags) error {
	c, job, err := t.find(ctx, name)
	if err != nil {
		return err
	}
	if o.since < 0 || o.Tail < -1 {
		return errors.New("--since and --tail are positive: write --since 10m, --tail 20")
	}
	if o.since > 0 {
		o.From = t.now().Add(-o.since).Truncate(time.Second)
	}
	o.Reader = advice.Of(job, c.folder)
	o.Print, o.Say = t.linePrinter(job, o), func(text string) { t.say(oneLine(text)) }
	reader := &podLogs{open: c.log, namespace: job.Namespace}
	if !o.Follow {
		pods, err := c.pods(ctx, job)
		if err != nil {
			return err
		}
		return logs.Run(ctx, &still{podLogs: reader, scene: logs.Scene{Job: job, Pods: pods}}, o.Request)
	}
	w, err := c.watch(ctx, job, t.say)
	if err != nil {
		return err
	}
	if err := logs.Run(ctx, &moving{podLogs: reader, watched: w}, o.Request); err != nil {
		return err
	}
	scene, _ := w.See()
	if !state.HasFinished(scene.Job) {
		return errGone
	}
	return verdictOf(scene.Job)
}

// palette are the colours by which ranks differ.
var palette = []string{"36", "33", "32", "35", "34", "96", "93", "92", "95", "94"}

// linePrinter returns the function that prints a line with its source.
func (t *tool) linePrinter(job *v1alpha1.TrainingJob, o *logFlags) func(*logs.Source, logs.Line) error {
	return func(s *logs.Source, line logs.Line) error {
		text := line.Text + "\n"
		if o.timestamps {
			text = line.Time.UTC().Format(time.RFC3339Nano) + " " + text
		}
		if !o.noPrefix {
			text = t.screen.paint(palette[s.Rank%len(palette)], prefix(job, s, line.Life)) + " " + text
		}
		_, err := io.WriteString(t.Out, text)
		return err
	}
}

// prefix returns the source of a line: "3 a1", and in a job with several roles "3 worker-2 a1".
func prefix(job *v1alpha1.TrainingJob, s *logs.Source, life state.Life) string {
	word := fmt.Sprintf("a%d", life.Attempt)
	if life.Replacement > 0 {
		word += fmt.Sprintf("r%d", life.Replacement)
	}
	if len(job.Spec.ReplicaSpecs) > 1 {
		return fmt.Sprintf("[%d %s %s]", s.Rank, s.Slot, word)
	}
	return fmt.Sprintf("[%d %s]", s.Rank, word)
}

// openLog opens the log of a pod, each line with its time before it.
type openLog func(ctx context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error)

// logsOf opens logs through the API server.
func logsOf(core kubernetes.Interface) openLog {
	return func(ctx context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		return core.CoreV1().Pods(namespace).GetLogs(pod, o).Stream(ctx)
	}
}

// podLogs opens the logs of a job's pods.
type podLogs struct {
	open      openLog
	namespace string
}

// Open returns the log of a container of a pod, each line with its time before it.
func (p *podLogs) Open(ctx context.Context, pod, container string, o logs.Options) (io.ReadCloser, error) {
	options := &corev1.PodLogOptions{Container: container, Follow: o.Follow, Previous: o.Previous, Timestamps: true}
	if !o.From.IsZero() {
		options.SinceTime = &metav1.Time{Time: o.From}
	}
	if o.Tail >= 0 {
		options.TailLines = &o.Tail
	}
	return p.open(ctx, p.namespace, pod, options)
}
