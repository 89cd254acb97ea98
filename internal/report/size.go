package report

import (
	"fmt"
	"math"
	"strings"
)

// Size writes bytes for people, in powers of 1024.
func Size(bytes int64) string {
	if bytes < 0 {
		return "-" + Size(-max(bytes, -math.MaxInt64))
	}
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, units := float64(bytes)/1024, "KMGTPE"
	for value >= 1023.95 && len(units) > 1 { // what would round to 1024.0
		value, units = value/1024, units[1:]
	}
	return fmt.Sprintf("%.1f %ciB", value, units[0])
}

// Count writes a number with its noun: "1 image", "2,000 images". Of a longer
// phrase the part before "of" takes the plural.
func Count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	head, rest, found := strings.Cut(noun, " of ")
	if found {
		rest = " of " + rest
	}
	if stem, ok := strings.CutSuffix(head, "y"); ok {
		return Number(int64(n)) + " " + stem + "ies" + rest
	}
	return Number(int64(n)) + " " + head + "s" + rest
}

// Number writes a number with commas.
func Number(n int64) string {
	text := fmt.Sprint(n)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(text) - 3; i > start; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// percent is a part of a whole, in whole per cent.
func percent(part, whole int64) string {
	if whole == 0 {
		return "0%"
	}
	share := float64(part) * 100 / float64(whole)
	if share > 0 && share < 1 {
		return "<1%"
	}
	if share < 100 {
		share = math.Min(share, 99) // all is all
	}
	return fmt.Sprintf("%.0f%%", share)
}
