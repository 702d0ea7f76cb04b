// Package pictures looks at the pages of kubectl tj in a real browser, in light and in dark, wide and narrow, at one replica and at ten
// thousand. make test-pictures runs it.
package pictures
