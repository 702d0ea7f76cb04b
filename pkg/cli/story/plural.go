package story

import "fmt"

// count returns a number with its noun: "1 replica", "3 replicas".
func count[N int | int32 | int64](n N, noun string) string { return Count(int64(n), noun) }

// Count returns a number with its noun: "1 attempt", "3 attempts".
func Count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
