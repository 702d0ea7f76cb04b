{{/*
What the operator and Kueue's adapter have in common, called with
  root       the whole chart's context
  name       of the Deployment, and of all that belongs to it
  container  the container's name and that of its image
  values     .Values.operator or .Values.kueue
  digest     of the image
  flags      as a map
*/}}
{{- define "trainingjob.deployment" -}}
{{- $health := include "trainingjob.port" (index .flags "health-probe-bind-address") -}}
{{- $metrics := include "trainingjob.port" (index .flags "metrics-bind-address") -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ .name }}
    app.kubernetes.io/part-of: trainingjob
spec:
  replicas: {{ .values.replicas }}
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .name }}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {{ .name }}
      {{- with .values.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ .name }}
      automountServiceAccountToken: true
      terminationGracePeriodSeconds: 40
      {{- with .root.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with .values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        seccompProfile: {type: RuntimeDefault}
      topologySpreadConstraints:
      - topologyKey: kubernetes.io/hostname
        maxSkew: 1
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels:
            app.kubernetes.io/name: {{ .name }}
        matchLabelKeys: [pod-template-hash]
      {{- with .values.extraVolumes }}
      volumes: {{- toYaml . | nindent 6 }}
      {{- end }}
      containers:
      - name: {{ .container }}
        image: {{ include "trainingjob.image" (dict "root" .root "name" .container "digest" .digest) }}
        {{- with .root.Values.image.pullPolicy }}
        imagePullPolicy: {{ . }}
        {{- end }}
        args: {{- include "trainingjob.args" .flags | nindent 8 }}
        {{- with .values.goMemLimit }}
        env:
        - name: GOMEMLIMIT
          value: {{ . | quote }}
        {{- end }}
        {{- if or (ne $metrics "0") (ne $health "0") }}
        ports:
        {{- if ne $metrics "0" }}
        - {name: metrics, containerPort: {{ $metrics }}}
        {{- end }}
        {{- if ne $health "0" }}
        - {name: health, containerPort: {{ $health }}}
        {{- end }}
        {{- end }}
        {{- if ne $health "0" }}
        startupProbe:
          httpGet: {path: /healthz, port: health}
          periodSeconds: 2
          failureThreshold: 30
        livenessProbe:
          httpGet: {path: /healthz, port: health}
          periodSeconds: 20
          timeoutSeconds: 5
        readinessProbe:
          httpGet: {path: /readyz, port: health}
          periodSeconds: 10
          timeoutSeconds: 5
        {{- end }}
        resources: {{- toYaml .values.resources | nindent 10 }}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {drop: [ALL]}
        {{- with .values.extraVolumeMounts }}
        volumeMounts: {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}

{{/* Beside the Deployment: its account, its metrics, what may reach it, and how many of its pods a drain may take. */}}
{{- define "trainingjob.beside" -}}
{{- $metrics := include "trainingjob.port" (index .flags "metrics-bind-address") -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/part-of: trainingjob
automountServiceAccountToken: false
{{- if ne $metrics "0" }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .name }}-metrics
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ .name }}
    app.kubernetes.io/part-of: trainingjob
spec:
  selector:
    app.kubernetes.io/name: {{ .name }}
  ports:
  - name: https
    port: 8443
    targetPort: metrics
{{- end }}
{{- if .root.Values.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/part-of: trainingjob
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .name }}
{{- end }}
{{- if .root.Values.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/part-of: trainingjob
spec:
  podSelector:
    matchLabels:
      app.kubernetes.io/name: {{ .name }}
  policyTypes: [Ingress, Egress]
  {{- if ne $metrics "0" }}
  ingress:
  - from:
    - namespaceSelector: {matchLabels: {metrics: enabled}}
    ports:
    - {port: {{ $metrics }}}
  {{- end }}
  egress:
  - ports:
    {{- range .root.Values.networkPolicy.apiServerPorts }}
    - {port: {{ . }}}
    {{- end }}
  {{- if eq .name "trainingjob-operator" }}
  - to:
    - namespaceSelector: {}
      podSelector:
        matchExpressions:
        - {key: trainingjob.dev/job-uid, operator: Exists}
  {{- if .root.Values.networkPolicy.nodes }}
  - to:
    {{- range .root.Values.networkPolicy.nodes }}
    - ipBlock: {cidr: {{ . | quote }}}
    {{- end }}
    ports:
    - {port: 1024, endPort: 65535}
  {{- end }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Leader election by the Lease of the program's name, in its own namespace or where the flag says. */}}
{{- define "trainingjob.leaderElection" -}}
{{- $namespace := index .flags "leader-election-namespace" | default .root.Release.Namespace -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .role }}
  namespace: {{ $namespace }}
  labels:
    app.kubernetes.io/part-of: trainingjob
rules:
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ .name }}]
  verbs: [get, update]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .role }}
  namespace: {{ $namespace }}
  labels:
    app.kubernetes.io/part-of: trainingjob
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .role }}
subjects:
- kind: ServiceAccount
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
{{- end -}}
