package story

import "fmt"

// Count returns a number with its noun: "1 attempt", "3 attempts".
func Count[N int | int32 | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
