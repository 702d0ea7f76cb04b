{{/* The operator's flags, as YAML: what the manifests give it, and .Values.operator.flags over that. */}}
{{- define "trainingjob.operatorFlags" -}}
{{- $flags := dict "health-probe-bind-address" ":8081" "leader-elect" true "metrics-bind-address" ":8443" -}}
{{- if .Values.operator.flags.namespaces -}}
{{- $_ := set $flags "watch-nodes" false -}}
{{- end -}}
{{- if .Values.kubeflow.enabled -}}
{{- $_ := set $flags "kubeflow-kinds" .Values.kubeflow.kinds -}}
{{- end -}}
{{- if .Values.jobset.enabled -}}
{{- $_ := set $flags "jobsets" true -}}
{{- end -}}
{{- range $name, $value := .Values.operator.flags -}}{{- $_ := set $flags $name $value -}}{{- end -}}
{{- toYaml $flags -}}
{{- end -}}

{{/* The flags of Kueue's adapter likewise. */}}
{{- define "trainingjob.kueueFlags" -}}
{{- $flags := dict "health-probe-bind-address" ":8081" "leader-elect" true "metrics-bind-address" ":8443" -}}
{{- range $name, $value := .Values.kueue.flags -}}{{- $_ := set $flags $name $value -}}{{- end -}}
{{- toYaml $flags -}}
{{- end -}}

{{/* Flags as a list of arguments. true needs no value, and null leaves a flag out. Numbers are written as JSON has them: else 1000000
would be 1e+06. */}}
{{- define "trainingjob.args" -}}
{{- range $name, $value := . }}
{{- if kindIs "invalid" $value }}
{{- else if eq (toJson $value) "true" }}
- --{{ $name }}
{{- else if kindIs "slice" $value }}
- {{ printf "--%s=%s" $name (join "," $value) | quote }}
{{- else if kindIs "string" $value }}
- {{ printf "--%s=%s" $name $value | quote }}
{{- else }}
- {{ printf "--%s=%s" $name (toJson $value) | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The port of an address such as :8443, or 0 for none. */}}
{{- define "trainingjob.port" -}}
{{- regexFind "[0-9]+$" (toString .) | default "0" -}}
{{- end -}}

{{/* An image's name: image.registry/NAME, with its digest or else its tag. */}}
{{- define "trainingjob.image" -}}
{{- $image := .root.Values.image -}}
{{- $registry := required "image.registry is empty, and no registry is the project's own: write where the image operator is, as --set image.registry=registry.example.com/team" $image.registry -}}
{{- if .digest -}}
{{ $registry }}/{{ .name }}@{{ .digest }}
{{- else -}}
{{ $registry }}/{{ .name }}:{{ $image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end -}}
