package convert

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	syaml "sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// whatIsRead names the kinds that are converted.
const whatIsRead = "TFJob, PyTorchJob, JAXJob, XGBoostJob, PaddleJob and MPIJob of kubeflow.org/v1, and MPIJob of kubeflow.org/v2beta1"

// unread are training jobs of others. To pass them on would apply half of what a user wants.
var unread = []string{"trainer.kubeflow.org/TrainJob", "batch.volcano.sh/Job", "jobset.x-k8s.io/JobSet", "ray.io/RayJob", "leaderworkerset.x-k8s.io/LeaderWorkerSet"}

// Stream reads YAML or JSON documents, converts the jobs among them, also those in lists, and writes all as YAML documents in the
// order in which they came; what is no job is written as it is. Comments of jobs are lost. If anything cannot be read or
// converted it writes nothing, and the error names each document and why. The report is also there with an error.
func Stream(in io.Reader, out io.Writer) (Report, error) {
	var (
		report  Report
		errs    []error
		written bytes.Buffer
	)
	reader := yaml.NewYAMLReader(bufio.NewReader(in))
	for n := 1; ; n++ {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return report, fmt.Errorf("reading document %d: %w", n, err)
		}
		if err := document(text, &report, &written); err != nil {
			errs = append(errs, fmt.Errorf("document %d: %w", n, err))
		}
	}
	if len(errs) > 0 {
		return report, errors.Join(errs...)
	}
	if written.Len() == 0 {
		return report, errors.New("there is nothing to convert: convert reads " + whatIsRead)
	}
	_, err := written.WriteTo(out)
	return report, err
}

// document converts one document.
func document(text []byte, report *Report, out *bytes.Buffer) error {
	var object map[string]any
	decode := syaml.UnmarshalStrict
	if bytes.Contains(text, []byte("<<:")) { // the strict one takes a field that is written over for one that stands twice
		decode = syaml.Unmarshal
	}
	if err := decode(text, &object); err != nil {
		return fmt.Errorf("this is no YAML of one object: %w", err)
	}
	if len(object) == 0 {
		return nil
	}
	kind, _ := object["kind"].(string)
	if items, hasItems := object["items"].([]any); hasItems && strings.HasSuffix(kind, "List") {
		return list(items, report, out)
	}
	return one(object, text, report, out)
}

// list converts each item of a list.
func list(items []any, report *Report, out *bytes.Buffer) error {
	var errs []error
	for i, item := range items {
		object, isObject := item.(map[string]any)
		if !isObject {
			errs = append(errs, fmt.Errorf("items[%d] is no object", i))
			continue
		}
		text, err := syaml.Marshal(object)
		if err == nil {
			err = one(object, text, report, out)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("items[%d]: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

// one converts one object, or passes its text on.
func one(object map[string]any, text []byte, report *Report, out *bytes.Buffer) error {
	if IsJob(object) {
		job, own, err := Job(object)
		report.Jobs += own.Jobs
		report.Notes = append(report.Notes, own.Notes...)
		if err != nil {
			return err
		}
		if text, err = YAML(job); err != nil {
			return err
		}
	} else {
		kind, _ := object["kind"].(string)
		version, _ := object["apiVersion"].(string)
		group, _, _ := strings.Cut(version, "/")
		if slices.Contains(unread, group+"/"+kind) {
			return fmt.Errorf("%s %s of %s is not read: convert reads %s", kind, nameOf(object), version, whatIsRead)
		}
		advice := "is no job that convert reads, and is written as it is"
		if group == v1alpha1.Group {
			advice = "is a " + kind + " already, and is written as it is"
		}
		report.Notes = append(report.Notes, Note{Object: kind + " " + nameOf(object), Effect: Kept, Advice: advice})
	}
	if out.Len() > 0 {
		out.WriteString("---\n")
	}
	out.Write(bytes.Trim(text, "\r\n"))
	out.WriteString("\n")
	return nil
}

// YAML returns the job as a person would write it: without status, and without objects that say nothing.
func YAML(job *v1alpha1.TrainingJob) ([]byte, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	if err != nil {
		return nil, fmt.Errorf("writing TrainingJob %s: %w", job.Name, err)
	}
	delete(object, "status")
	spec := object["spec"].(map[string]any)
	withoutEmpty(spec, "runPolicy", "recovery")
	for _, role := range spec["replicaSpecs"].(map[string]any) {
		template := role.(map[string]any)["template"].(map[string]any)
		withoutEmpty(template, "metadata")
		pod := template["spec"].(map[string]any)
		for _, kind := range []string{"initContainers", "containers"} {
			containers, _ := pod[kind].([]any)
			for _, container := range containers {
				withoutEmpty(container.(map[string]any), "resources")
			}
		}
	}
	return syaml.Marshal(object)
}

// withoutEmpty deletes the named fields that are empty objects.
func withoutEmpty(object map[string]any, names ...string) {
	for _, name := range names {
		if inner, isObject := object[name].(map[string]any); isObject && len(inner) == 0 {
			delete(object, name)
		}
	}
}
