{{- define "gvDetails" -}}
{{ range .SortedTypes }}{{ template "type" . }}{{ end }}
{{- end -}}
