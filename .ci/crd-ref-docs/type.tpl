{{- define "type" -}}
{{- $type := . -}}
{{- if markdownShouldRenderType $type }}
## {{ $type.Name }}

{{ $type.Doc }}
{{ if $type.References }}
In: {{ range $i, $in := $type.SortedReferences }}{{ if $i }}, {{ end }}{{ markdownRenderTypeLink $in }}{{ end }}
{{ end }}
{{- if $type.Members }}
| Field | Type | What it is | Default | Bounds |
| --- | --- | --- | --- | --- |
{{ range $type.Members -}}
| `{{ .Name }}` | {{ template "type_name" .Type }} | {{ template "prose" .Doc }} | {{ template "default" .Default }} | {{ template "bounds" .Validation }} |
{{ end -}}
{{- end }}
{{- if and $type.EnumValues (index $type.EnumValues 0).Doc }}
| Value | |
| --- | --- |
{{ range $type.EnumValues -}}
| `{{ .Name }}` | {{ regexReplaceAll "^\\S+ " .Doc "" | replace "\n" " " | trim }} |
{{ end -}}
{{- else if $type.EnumValues }}
Values: {{ range $i, $value := $type.EnumValues }}{{ if $i }}, {{ end }}`{{ $value.Name }}`{{ end }}
{{ end }}
{{- end -}}
{{- end -}}
