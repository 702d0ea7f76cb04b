package story

import (
	"regexp"
	"slices"
	"strings"
)

// localVerbs are the verbs of kubectl tj that work without a cluster: those that read a local run with --local, and run.
var localVerbs = []string{"list", "logs", "report", "stacks", "status", "timeline", "ui", "why", "run"}

// command matches a command in a text. readingVerb matches one that reads a job, with the flags that a local run has none of.
var (
	command     = regexp.MustCompile(`kubectl (tj )?([a-z]+)`)
	readingVerb = regexp.MustCompile(`kubectl tj (` + strings.Join(localVerbs[:len(localVerbs)-1], "|") + `)\b(?: -n [a-z0-9-]+)?(?: -A)?`)
)

// wordsOfLocalRuns replace the parts of advice that need a cluster.
var wordsOfLocalRuns = strings.NewReplacer(
	changeTemplate, "Change the file and run it again.",
	submitAgain, "Correct the cause and run it again: kubectl tj run FILE",
	codes[137], "Exit code 137: something killed it (SIGKILL), such as the kernel when no memory is left.",
	", kubectl exec -n NS POD -- py-spy dump --pid 1,", ",",
	" Report it to an administrator: kubectl describe node NODE.", "",
	"See whether a probe or a postStart hook failed, for which the kubelet ends a container: kubectl describe pod -n NS POD.", "",
	": kubectl describe pod -n NS POD.", ".",
)

// inWordsOfLocalRuns rewords the advice for a local run.
func (v *View) inWordsOfLocalRuns(list []string) []string {
	if v.Local == "" {
		return list
	}
	reworded := make([]string, 0, len(list))
	for _, text := range list {
		reworded = append(reworded, wordsOfLocalRuns.Replace(text))
	}
	return reworded
}

func needsCluster(text string) bool {
	return slices.ContainsFunc(command.FindAllStringSubmatch(text, -1), func(found []string) bool {
		return found[1] == "" || !slices.Contains(localVerbs, found[2])
	})
}

// Locally returns a text whose commands read the local run of the folder, without the sentences whose commands need a cluster. Without a
// folder it returns the text as it is.
func Locally(text, folder string) string {
	if folder == "" {
		return text
	}
	sentences := slices.DeleteFunc(strings.SplitAfter(text, ". "), needsCluster)
	text = strings.TrimRight(strings.Join(sentences, ""), " ")
	return readingVerb.ReplaceAllStringFunc(text, func(found string) string {
		return "kubectl tj " + readingVerb.FindStringSubmatch(found)[1] + " --local " + quoted(folder)
	})
}

// Localize rewords what the operator wrote about the job of a view of a local run.
func (v *View) Localize() {
	if v.Local == "" {
		return
	}
	v.Job = v.Job.DeepCopy()
	texts := []*string{&v.Job.Status.Message}
	for i := range v.Job.Status.Conditions {
		texts = append(texts, &v.Job.Status.Conditions[i].Message)
	}
	v.Events = slices.Clone(v.Events)
	for i := range v.Events {
		texts = append(texts, &v.Events[i].Message)
	}
	for _, text := range texts {
		*text = Locally(*text, v.Local)
	}
}

// plain matches a path that a shell takes as it is.
var plain = regexp.MustCompile(`^[\w/.,:@%+=-]+$`)

func quoted(path string) string {
	if plain.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
