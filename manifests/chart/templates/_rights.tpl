{{/*
What the operator's account may do, everywhere or in the namespaces that its flag names, called with
  root    the whole chart's context
  name    of the role
  rules   as a list
Two operators of some namespaces each would take a ClusterRole from each other if it had the same name.
*/}}
{{- define "trainingjob.grant" -}}
{{- $namespaces := .root.Values.operator.flags.namespaces -}}
{{- $role := .name -}}
{{- if $namespaces -}}{{- $role = printf "%s.%s" .name .root.Release.Namespace -}}{{- end -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $role }}
  labels:
    app.kubernetes.io/part-of: trainingjob
rules: {{- toYaml .rules | nindent 0 }}
{{- range $namespaces | default (list "") }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ empty . | ternary "ClusterRoleBinding" "RoleBinding" }}
metadata:
  name: {{ $.name }}
  {{- with . }}
  namespace: {{ . }}
  {{- end }}
  labels:
    app.kubernetes.io/part-of: trainingjob
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $role }}
subjects:
- kind: ServiceAccount
  name: trainingjob-operator
  namespace: {{ $.root.Release.Namespace }}
{{- end }}
{{- end -}}

{{/* What the operator does with jobs and their children. */}}
{{- define "trainingjob.operatorRules" -}}
rules:
- apiGroups: [trainingjob.dev]
  resources: [trainingjobs]
  verbs: [get, list, watch]
- apiGroups: [trainingjob.dev]
  resources: [trainingjobs/status]
  verbs: [update]
- apiGroups: [trainingjob.dev]
  resources: [trainingjobs/finalizers] # for owner references, where OwnerReferencesPermissionEnforcement is on
  verbs: [update]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, delete, patch] # patch: takes a pod on a lost node out of its Service
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{/* What the operator does with Kubeflow jobs and for them. */}}
{{- define "trainingjob.kubeflowRules" -}}
rules:
- apiGroups: [kubeflow.org]
  resources: [pytorchjobs, tfjobs, xgboostjobs, paddlejobs, jaxjobs]
  verbs: [get, list, watch, delete] # delete: runPolicy.ttlSecondsAfterFinished
- apiGroups: [kubeflow.org]
  resources: [pytorchjobs/status, tfjobs/status, xgboostjobs/status, paddlejobs/status, jaxjobs/status]
  verbs: [update]
- apiGroups: [kubeflow.org]
  resources: [pytorchjobs/finalizers, tfjobs/finalizers, xgboostjobs/finalizers, paddlejobs/finalizers, jaxjobs/finalizers]
  verbs: [update] # for owner references, where OwnerReferencesPermissionEnforcement is on
- apiGroups: [trainingjob.dev]
  resources: [trainingjobs] # the one that serves a Kubeflow job; delete: where another controller serves that job too
  verbs: [create, patch, delete]
- apiGroups: [""]
  resources: [services] # one of each replica, which go while the job is suspended
  verbs: [delete]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers] # elasticPolicy.metrics
  verbs: [get, create, delete]
{{- end -}}

{{/* What the operator does with JobSets and for them. */}}
{{- define "trainingjob.jobsetRules" -}}
rules:
- apiGroups: [jobset.x-k8s.io]
  resources: [jobsets]
  verbs: [get, list, watch, delete] # delete: ttlSecondsAfterFinished
- apiGroups: [jobset.x-k8s.io]
  resources: [jobsets/status]
  verbs: [update]
- apiGroups: [jobset.x-k8s.io]
  resources: [jobsets/finalizers]
  verbs: [update] # for owner references, where OwnerReferencesPermissionEnforcement is on
- apiGroups: [trainingjob.dev]
  resources: [trainingjobs] # the one that serves a JobSet
  verbs: [create, patch]
- apiGroups: [""]
  resources: [persistentvolumeclaims] # spec.volumeClaimPolicies
  verbs: [create]
{{- end -}}
