package objects

import (
	"slices"
	"strings"
	"sync/atomic"
)

// When tells of which requests something is true.
type When func(Call) bool

// Always is true of all.
func Always() When { return func(Call) bool { return true } }

// Operation is true of some operations.
func Operation(names ...string) When {
	return func(c Call) bool { return slices.Contains(names, c.Operation) }
}

// Below is true of keys, and of listings, that begin with prefix.
func Below(prefix string) When {
	return func(c Call) bool {
		return strings.HasPrefix(c.Key, prefix) || slices.ContainsFunc(c.Keys, func(key string) bool {
			return strings.HasPrefix(key, prefix)
		})
	}
}

// Both is true where each of them is.
func Both(all ...When) When {
	return func(c Call) bool {
		return !slices.ContainsFunc(all, func(when When) bool { return !when(c) })
	}
}

// NthOf is true of the n-th request, from 1, that when is true of.
func NthOf(n int, when When) When { return Span(n, n, when) }

// Span is true from the first-th to the last-th request that when is true of,
// both included: a storm that passes.
func Span(first, last int, when When) When {
	var seen atomic.Int64
	return func(c Call) bool {
		if !when(c) {
			return false
		}
		n := seen.Add(1)
		return n >= int64(first) && n <= int64(last)
	}
}
