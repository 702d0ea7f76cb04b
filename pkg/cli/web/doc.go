// Package web serves the pages of kubectl tj ui to the one person who started it.
//
// A client that reaches the port reads with the rights of that person in the cluster, so a page is served only to a request that
//
//	comes to a loopback address by its number or as localhost: no web site can point a name of its own here (DNS rebinding)
//	has the token, which is compared in constant time
//	only reads: there is nothing to write
package web
