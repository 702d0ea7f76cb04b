// Command gen writes the TypedDicts of the Python SDK from the JSON schema of the API:
//
//	gen SCHEMA PYTHON_FILE
//
// Each object of the schema becomes a class with a name from the list below: a new object has no name yet, which is an error and
// not a guess, because names of classes are part of the SDK. Pod templates and the operator's memory stay plain dicts: the first are
// Kubernetes' own, the second is nobody's to read.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// classes are the names of the classes by the path of their object.
var classes = map[string]string{
	"":                          "TrainingJob",
	".spec":                     "TrainingJobSpec",
	".spec.elastic":             "Elastic",
	".spec.elastic.rendezvous":  "Rendezvous",
	".spec.mpi":                 "MPI",
	".spec.network":             "Network",
	".spec.progress":            "Progress",
	".spec.recovery":            "Recovery",
	".spec.recovery.rules[]":    "Rule",
	".spec.replicaSpecs{}":      "ReplicaSpec",
	".spec.runPolicy":           "RunPolicy",
	".spec.scheduling":          "Scheduling",
	".spec.scheduling.topology": "Topology",
	".status":                   "TrainingJobStatus",
	".status.avoidedNodes[]":    "AvoidedNode",
	".status.budgets[]":         "Budget",
	".status.conditions[]":      "Condition",
	".status.incidents[]":       "Incident",
	".status.lastFailure":       "Failure",
	".status.lostSeconds":       "LostSeconds",
	".status.progress":          "ProgressStatus",
	".status.checkpointRequest": "CheckpointRequest",
	".status.replicaStatuses{}": "ReplicaStatus",
}

// plain are the objects that stay dicts.
var plain = map[string]string{
	".metadata":                     "ObjectMeta",
	".spec.replicaSpecs{}.template": "Dict[str, Any]",
	".status.memory":                "Dict[str, Any]",
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gen SCHEMA PYTHON_FILE")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func generate(source, target string) error {
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	text, err := module(data)
	if err != nil {
		return fmt.Errorf("reading %s: %w", source, err)
	}
	return os.WriteFile(target, []byte(text), 0o644)
}

// node is one level of the schema.
type node struct {
	Description          string           `json:"description"`
	Type                 any              `json:"type"`
	Enum                 []string         `json:"enum"`
	Required             []string         `json:"required"`
	Properties           map[string]*node `json:"properties"`
	Items                *node            `json:"items"`
	AdditionalProperties json.RawMessage  `json:"additionalProperties"`
}

// values returns the schema of a map's values; nil if it is no map.
func (n *node) values() *node {
	value := &node{}
	if len(n.Properties) > 0 || json.Unmarshal(n.AdditionalProperties, value) != nil {
		return nil
	}
	return value
}

// header is what the schema does not say.
const header = `"""What the API server takes and gives, as types: generated from the CRD by make generate. Do not edit."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, TypedDict


class ObjectMetaRequired(TypedDict):
    """What every ObjectMeta has."""

    name: str


class ObjectMeta(ObjectMetaRequired, total=False):
    """Of every object of Kubernetes."""

    generateName: str
    namespace: str
    labels: Dict[str, str]
    annotations: Dict[str, str]
    uid: str
    resourceVersion: str
    generation: int
    creationTimestamp: str
    deletionTimestamp: str
    ownerReferences: List[Dict[str, Any]]
    finalizers: List[str]
    managedFields: List[Dict[str, Any]]
`

// module returns the Python module for a schema.
func module(schema []byte) (string, error) {
	root := &node{}
	if err := json.Unmarshal(schema, root); err != nil {
		return "", err
	}
	w := &writer{}
	if name := w.object("", root); name == "" {
		return "", errors.New("the schema is no object with fields")
	}
	if len(w.unnamed) > 0 {
		return "", fmt.Errorf("no class is named for %s: add it to the list in sdk/gen", strings.Join(w.unnamed, ", "))
	}
	return header + strings.Join(w.bodies, ""), nil
}

// writer gathers classes, inner ones first.
type writer struct {
	bodies  []string
	unnamed []string
}

// object writes the class of an object and returns its name.
func (w *writer) object(path string, n *node) string {
	name, named := classes[path]
	if !named {
		w.unnamed = append(w.unnamed, path)
		return path
	}
	b := &strings.Builder{}
	base := "TypedDict"
	required, optional := w.fields(path, n)
	if len(required) > 0 {
		base = name + "Required"
		fmt.Fprintf(b, "\n\nclass %s(TypedDict):\n    \"\"\"What every %s has.\"\"\"\n%s", base, name, strings.Join(required, ""))
	}
	body := doc(n.Description) + strings.Join(optional, "")
	fmt.Fprintf(b, "\n\nclass %s(%s, total=False):\n%s", name, base, cmp.Or(body, "    pass\n"))
	w.bodies = append(w.bodies, b.String())
	return name
}

// fields returns the fields of an object, those that it must have apart: Python 3.9 marks classes and not fields.
func (w *writer) fields(path string, n *node) (required, optional []string) {
	for _, field := range slices.Sorted(maps.Keys(n.Properties)) {
		child := n.Properties[field]
		text := fmt.Sprintf("\n    %s: %s\n%s", field, w.typeOf(path+"."+field, child), doc(child.Description))
		if slices.Contains(n.Required, field) {
			required = append(required, text)
		} else {
			optional = append(optional, text)
		}
	}
	return required, optional
}

var scalars = map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool"}

// typeOf returns the Python type of what is at the path.
func (w *writer) typeOf(path string, n *node) string {
	if name, ok := plain[path]; ok {
		return name
	}
	if len(n.Enum) > 0 {
		return `Literal["` + strings.Join(n.Enum, `", "`) + `"]`
	}
	kind, isOne := n.Type.(string)
	switch values := n.values(); {
	case isOne && scalars[kind] != "":
		return scalars[kind]
	case kind == "array" && n.Items != nil:
		return "List[" + w.typeOf(path+"[]", n.Items) + "]"
	case kind == "object" && values != nil:
		return "Dict[str, " + w.typeOf(path+"{}", values) + "]"
	case kind == "object" && len(n.Properties) > 0:
		return w.object(path, n)
	}
	return "Any"
}

// doc returns a description as a docstring.
func doc(text string) string {
	words := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), `"""`, `'''`))
	if len(words) == 0 {
		return ""
	}
	b := &strings.Builder{}
	b.WriteString(`    """`)
	column := 7
	for i, word := range words {
		switch {
		case i == 0:
		case column+1+len(word) > 116:
			b.WriteString("\n    ")
			column = 4
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	if strings.HasSuffix(text, `"`) {
		b.WriteString(" ")
	}
	b.WriteString("\"\"\"\n")
	return b.String()
}
