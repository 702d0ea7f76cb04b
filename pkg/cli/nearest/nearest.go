// Package nearest finds the name that a misspelt one means.
package nearest

// Name returns the name that a misspelt one most likely means; empty if none is like it in more than half of the letters.
func Name(name string, names []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, other := range names {
		if d := distance(name, other); d < least && 2*d < max(len(name), len(other)) {
			best, least = other, d
		}
	}
	return best
}

// distance returns how many letters must be added, taken away, exchanged, or swapped with the next one to make b of a.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			differs := 0
			if a[i-1] != b[j-1] {
				differs = 1
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+differs)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
