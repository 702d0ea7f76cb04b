package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const small = `{"type": "object", "required": ["spec"], "properties": {
  "spec": {"type": "object", "description": "spec is \"what\".", "required": ["framework"], "properties": {
    "framework": {"type": "string", "enum": ["JAX", "MPI"]},
    "suspend": {"type": "boolean"},
    "replicaSpecs": {"type": "object", "additionalProperties": {"type": "object", "properties": {
      "replicas": {"type": "integer"},
      "template": {"type": "object", "properties": {"spec": {"type": "object"}}}}}}}}}}`

const want = `

class ReplicaSpec(TypedDict, total=False):

    replicas: int

    template: Dict[str, Any]


class TrainingJobSpecRequired(TypedDict):
    """What every TrainingJobSpec has."""

    framework: Literal["JAX", "MPI"]


class TrainingJobSpec(TrainingJobSpecRequired, total=False):
    """spec is "what"."""

    replicaSpecs: Dict[str, ReplicaSpec]

    suspend: bool


class TrainingJobRequired(TypedDict):
    """What every TrainingJob has."""

    spec: TrainingJobSpec
    """spec is "what"."""


class TrainingJob(TrainingJobRequired, total=False):
    pass
`

func TestClassesOfASchema(t *testing.T) {
	got, err := module([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, strings.TrimPrefix(got, header)); diff != "" {
		t.Error(diff)
	}
}

func TestAnObjectWithoutANameIsAnError(t *testing.T) {
	_, err := module([]byte(strings.Replace(small, `"suspend": {"type": "boolean"}`, `"newPart": {"type": "object", "properties": {"a": {"type": "string"}}}`, 1)))
	if err == nil || !strings.Contains(err.Error(), "no class is named for .spec.newPart") {
		t.Errorf("the error is %v", err)
	}
}
