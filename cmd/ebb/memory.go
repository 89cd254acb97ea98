package main

import (
	"runtime"
	"runtime/debug"
)

// delayCollection lets the heap grow to 16 MB before the first collection and
// collects as usual from then on: a small registry is read before a collection
// would pay, and a large one takes no more memory for it.
func delayCollection() {
	normal := debug.SetGCPercent(400) // of the runtime's least heap, 4 MB
	runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, normal)
}
