// Package progress reads the pages of trainings.
//
//	Fence     the address of a pod's page, or why the operator requests nothing from there
//	Reader    makes one bounded request: a fixed path, no redirect, no proxy, no credentials
//	Parse     the report of a page
//	Lag       whether the next report is later than usual
//
// A page is a foreign text from a foreign program, so each function refuses what is too long, too slow or of another form.
package progress
