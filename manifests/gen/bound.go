package main

import (
	"fmt"
	"math"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const (
	// quantity accepts what resource.ParseQuantity does. controller-gen's own pattern accepts fractions in an exponent, and exponents that
	// overflow. Two digits suffice: E is 10^18, and a number with an exponent of 9 digits takes minutes to compute.
	quantity = `^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`

	// dateTime accepts what time.RFC3339 does in years that stay years of 4 digits in UTC. The API server's format date-time also accepts lower
	// case, zones such as +99:99, and any text behind a second T. It does refuse 30 February.
	dateTime = `^[12][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
)

// The bounds of leaves. A quantity of 64 digits is beyond any machine; parsing takes the square of its length.
const (
	maxQuantity int64   = 64
	maxPort     float64 = 65535
)

// bound limits one leaf to what Go decodes into its type. The API server stores whatever the schema accepts, and a client that lists typed
// jobs fails as a whole if it cannot decode one of them. bound returns an error for a leaf that it does not know.
func bound(path string, schema *apiextensions.JSONSchemaProps) error {
	switch kind := schema.Type + "/" + schema.Format; {
	case schema.XIntOrString && schema.Pattern != "":
		schema.Pattern, schema.MaxLength = quantity, new(maxQuantity)
	case schema.XIntOrString && strings.HasSuffix(path, ".port"):
		between(schema, 1, maxPort)
	case schema.XIntOrString:
		between(schema, math.MinInt32, math.MaxInt32)
	case kind == "integer/int32": // Kubernetes 1.36 and older do not enforce the format
		between(schema, math.MinInt32, math.MaxInt32)
	case kind == "string/date-time":
		schema.Pattern = dateTime
		schema.MinItems, schema.MaxItems = new(int64(1)), new(int64(0)) // the API server accepts a list in place of a string with a format
	case kind == "integer/int64", kind == "string/", kind == "boolean/": // every value of the type can be decoded
	case kind == "array/" && schema.Items != nil, kind == "object/" && isContainer(path, schema):
	default:
		return fmt.Errorf("%s has type %q and format %q: say in bound which values Go can decode", path, schema.Type, schema.Format)
	}
	return nil
}

// isContainer reports whether a schema says what is below it. The API server itself decodes the metadata of a job.
func isContainer(path string, schema *apiextensions.JSONSchemaProps) bool {
	return len(schema.Properties) > 0 || schema.AdditionalProperties != nil || path == ".metadata"
}

// between keeps bounds of schema that are narrower.
func between(schema *apiextensions.JSONSchemaProps, least, most float64) {
	if schema.Minimum == nil || *schema.Minimum < least {
		schema.Minimum = new(least)
	}
	if schema.Maximum == nil || *schema.Maximum > most {
		schema.Maximum = new(most)
	}
}
