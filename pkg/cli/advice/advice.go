// Package advice has what kubectl tj recommends, as values: a verb, its arguments and a sentence around them. The facts about a job choose the
// advice, and a Reader renders it once. A new reason needs one row: in tables.go, or in messages.go if a message has no reason of its own.
package advice

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Sentence is one step. $do is the command of the verb with Args: a reader without it does not get the sentence, so one for clusters and one for
// local runs stand side by side. $field is a field that the kinds of Kubeflow lack. $found is a name in the message that the sentence answers.
type Sentence struct {
	Verb                     Verb
	Args, Text, Field, found string
}

// Advice is what to do about one cause.
type Advice []Sentence

func say(text string) Advice                 { return Advice{{Text: text}} }
func do(verb Verb, args, text string) Advice { return Advice{{Verb: verb, Args: args, Text: text}} }
func set(field, text string) Advice          { return Advice{{Field: field, Text: text}} }
func row(parts ...Advice) Advice             { return slices.Concat(parts...) }

// Reader is the job that advice is about, as its user names it. Kind is the kind of the Kubeflow job that the job serves, Folder the folder of a
// local run; both are empty for other jobs. Without a namespace, a command uses the namespace of the user's context.
type Reader struct{ Namespace, Job, Kind, Folder string }

// Of returns the reader of advice about the job.
func Of(job *v1alpha1.TrainingJob, folder string) Reader {
	r := Reader{Namespace: job.Namespace, Job: job.Name, Folder: folder}
	if ref := state.ServedJob(job); ref != nil {
		r.Kind = ref.Kind
	}
	return r
}

// Name is how kubectl tj names the job: with the kind of the Kubeflow job, if it serves one.
func (r Reader) Name() string { return strings.TrimPrefix(strings.ToLower(r.Kind)+"/"+r.Job, "/") }

// Command returns the command of the verb with its arguments; empty if the reader has no such command.
func (r Reader) Command(verb Verb, args ...string) string {
	call := verb.job
	switch {
	case r.Folder != "":
		call = verb.local
	case r.Kind == v1alpha1.JobSetKind:
		call = verb.set
	case r.Kind != "":
		call = verb.served
	}
	if call == "" {
		return ""
	}
	return strings.TrimSpace(fill(call, r.names()) + " " + strings.Join(args, " "))
}

// Text returns the advice for the reader, with the values of other names: the pod as $pod, its rank as $rank.
func (r Reader) Text(a Advice, others map[string]string) string {
	known, texts := r.names(), []string{}
	maps.Copy(known, others)
	for _, s := range a {
		known["found"], known["field"] = s.found, s.Field
		if known["do"] = r.Command(s.Verb, fill(s.Args, known)); known["do"] != "" || s.Verb == (Verb{}) {
			texts = append(texts, fill(s.Text, known))
		}
	}
	return strings.Join(texts, " ")
}

// fill puts the values of names into the text of a table.
func fill(text string, values map[string]string) string {
	return os.Expand(text, func(name string) string { return values[name] })
}

func (r Reader) names() map[string]string {
	place := ""
	switch {
	case r.Folder != "":
		place = "--local " + quoted(r.Folder)
	case r.Namespace != "":
		place = "-n " + r.Namespace
	}
	kind := strings.ToLower(cmp.Or(r.Kind, "tj"))
	return map[string]string{"place": place, "job": strings.TrimSpace(place + " " + r.Name()), "name": r.Job, "Kind": r.Kind, "kind": kind}
}

// quoted returns the path as one word of a shell.
func quoted(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_-.,:@%+=") == "" { // of characters that no shell interprets
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
