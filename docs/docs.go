// Package docs gives the tests what the documents promise.
package docs

import _ "embed"

// States is docs/states.md.
//
//go:embed states.md
var States string
