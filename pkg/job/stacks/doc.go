// Package stacks explains a hang by the stacks of the ranks.
//
//	Parse     the processes on a page of stacks, each with its threads
//	Of        where a process is: its innermost function, and the innermost line of the user's code
//	Sentence  the ranks grouped by where they are, the largest group first
//	Suspect   the rank for which the other ranks wait
//
// A page is a foreign text from a foreign program. Parse refuses another form, and texts are cut and printable.
package stacks
