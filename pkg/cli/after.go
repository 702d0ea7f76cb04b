package cli

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// behind returns the YAML of the jobs with the annotation by which they begin with the attempt behind the latest one of another job.
func behind(documents [][]byte, latest int32) ([][]byte, error) {
	if latest < 0 || latest >= v1alpha1.MaxFirstAttempt {
		return nil, fmt.Errorf("--after %d: write the latest attempt of the other job, from 0 to %d", latest, v1alpha1.MaxFirstAttempt-1)
	}
	annotated := make([][]byte, 0, len(documents))
	for _, document := range documents {
		job := object{}
		if err := yaml.Unmarshal(document, &job); err != nil {
			return nil, err
		}
		if err := unstructured.SetNestedField(job, strconv.Itoa(int(latest)+1), "metadata", "annotations", v1alpha1.AnnotationFirstAttempt); err != nil {
			return nil, err
		}
		text, err := yaml.Marshal(job)
		if err != nil {
			return nil, err
		}
		annotated = append(annotated, text)
	}
	return annotated, nil
}
