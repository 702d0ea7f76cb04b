package main

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
)

func TestWhatThePatternOfAQuantityMatchesIsAQuantity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(strings.TrimSuffix(quantity, "$")).Filter(func(s string) bool { return len(s) <= int(maxQuantity) }).Draw(t, "text")
		read, err := resource.ParseQuantity(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if again, err := resource.ParseQuantity(read.String()); err != nil || again.Cmp(read) != 0 {
			t.Errorf("%q becomes %s, and this %s: %v", text, read.String(), again.String(), err)
		}
	})
}

func TestQuantitiesThatPeopleWriteMatchThePattern(t *testing.T) {
	for _, text := range []string{"1", "0.5", ".5", "1.", "500m", "100n", "250u", "1k", "64Gi", "1.5Ti", "8E", "2Ei", "1e3", "1E3", "12e6", "5e-3", "-1", "+1", "128974848"} {
		if !regexp.MustCompile(quantity).MatchString(text) {
			t.Errorf("%q is a quantity", text)
		}
	}
}

func TestWhatThePatternOfATimeMatchesIsATimeOnceTheDayExists(t *testing.T) {
	day := "2028-02-29"
	rapid.Check(t, func(t *rapid.T) {
		_, clock, _ := strings.Cut(strings.TrimSuffix(dateTime, "$"), "T")
		text := day + "T" + rapid.StringMatching(clock).Draw(t, "text")
		hours := text[len(day)+1 : len(day)+9]
		if _, err := time.Parse(time.TimeOnly, hours); err != nil {
			t.Skip("the format date-time refuses it")
		}
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func TestBoundsOfALeaf(t *testing.T) {
	least, most := 5.0, 1e12
	for name, c := range map[string]struct {
		path        string
		schema      apiextensions.JSONSchemaProps
		least, most float64
	}{
		"a port":                               {".httpGet.port", apiextensions.JSONSchemaProps{XIntOrString: true}, 1, 65535},
		"a number or a string":                 {".maxSurge", apiextensions.JSONSchemaProps{XIntOrString: true}, math.MinInt32, math.MaxInt32},
		"an int32":                             {".a", apiextensions.JSONSchemaProps{Type: "integer", Format: "int32"}, math.MinInt32, math.MaxInt32},
		"an int32 that has one narrower bound": {".a", apiextensions.JSONSchemaProps{Type: "integer", Format: "int32", Minimum: &least, Maximum: &most}, 5, math.MaxInt32},
	} {
		if err := bound(c.path, &c.schema); err != nil || *c.schema.Minimum != c.least || *c.schema.Maximum != c.most {
			t.Errorf("%s: %v to %v, error %v; want %v to %v", name, *c.schema.Minimum, *c.schema.Maximum, err, c.least, c.most)
		}
	}
}

func TestALeafThatIsNotKnownIsAnError(t *testing.T) {
	for _, unknown := range []apiextensions.JSONSchemaProps{{Type: "number"}, {Type: "integer"}, {Type: "string", Format: "byte"}, {Type: "object"}, {}} {
		if err := bound(".spec.new", &unknown); err == nil || !strings.Contains(err.Error(), ".spec.new") {
			t.Errorf("type %q, format %q: error %v", unknown.Type, unknown.Format, err)
		}
	}
}
