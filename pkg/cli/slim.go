package cli

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// slim is a job as a person would write it: the API's own types print empty fields and a status too.
type slim struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels,omitempty"`
	} `json:"metadata"`
	Spec struct {
		Framework    string                     `json:"framework"`
		Elastic      *v1alpha1.Elastic          `json:"elastic,omitempty"`
		ReplicaSpecs map[v1alpha1.Role]slimRole `json:"replicaSpecs"`
	} `json:"spec"`
}

type slimRole struct {
	Replicas int32        `json:"replicas"`
	Template slimTemplate `json:"template"`
}

type slimTemplate struct {
	Spec struct {
		Containers []slimContainer `json:"containers"`
	} `json:"spec"`
}

type slimContainer struct {
	Name      string          `json:"name"`
	Image     string          `json:"image"`
	Command   []string        `json:"command,omitempty"`
	Env       []corev1.EnvVar `json:"env,omitempty"`
	Resources *slimResources  `json:"resources,omitempty"`

	limits map[corev1.ResourceName]string
}

type slimResources struct {
	Limits map[corev1.ResourceName]string `json:"limits"`
}

// roleOf returns a role whose replicas run the container, each with so many GPUs.
func roleOf(replicas int32, c slimContainer, gpus int64) slimRole {
	limits := map[corev1.ResourceName]string{}
	for name, amount := range c.limits {
		limits[name] = amount
	}
	if gpus > 0 {
		limits["nvidia.com/gpu"] = fmt.Sprint(gpus)
	}
	if len(limits) > 0 {
		c.Resources = &slimResources{Limits: limits}
	}
	role := slimRole{Replicas: replicas}
	role.Template.Spec.Containers = []slimContainer{c}
	return role
}
