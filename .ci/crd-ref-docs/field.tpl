{{- /* Types of Kubernetes are named without a link: there are many, to the same page. */ -}}
{{- define "type_name" -}}
{{- $name := markdownRenderType . -}}
{{- $name = regexReplaceAll "\\[(\\w+)\\]\\(https:[^)]*\\)" $name "${1}" -}}
{{- regexReplaceAll "object \\(keys:(.*), values:(.*)\\)$" $name "map of ${1} to ${2}" -}}
{{- end -}}

{{- define "prose" -}}
{{- . | replace "\n" " " | replace "|" "\\|" | trim -}}
{{- end -}}

{{- define "default" -}}
{{- with . }}`{{ regexReplaceAll "\\s+" . " " | replace "{ }" "{}" | trim }}`{{ end -}}
{{- end -}}

{{- /* A field is optional unless it is called required; the values of an enumeration are with its type. */ -}}
{{- define "bounds" -}}
{{- range . -}}
{{- if hasPrefix "Required" . }}required {{ else if not (or (hasPrefix "Optional" .) (hasPrefix "Enum" .)) }}{{ replace ": " " " . }} {{ end -}}
{{- end -}}
{{- end -}}
