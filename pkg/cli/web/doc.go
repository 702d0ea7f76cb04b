// Package web serves the pages of kubectl tj ui to the one person who started it.
//
// Whoever reaches the port has that person's rights in the cluster, so a page is shown only to a request that
//
//	comes to a loopback address by its number or as localhost: no web site can point a name of its own here (DNS rebinding)
//	has the token, which is compared in constant time
//	only reads: there is nothing to write
//
// Decisions, newest first:
//   - The token stays in the addresses, and no cookie has it: a browser sends a cookie of 127.0.0.1 to the servers of all its ports.
//     No address leaves the browser, as the pages allow no referrer, and nothing from elsewhere.
package web
