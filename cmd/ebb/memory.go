package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A small registry is read before a collection would pay: the heap grows to
// 16 MB before the first. A large one shall not take twice the memory that it
// needs, as is usual: from a quarter of a gigabyte on it takes half as much again.
const (
	atFirst = 400 // percent, of the runtime's least heap, 4 MB
	usual   = 100
	roomy   = 220 << 20 // bytes of the whole process that need no thrift
)

// manageMemory sets how much the heap may grow between two collections, unless
// a person has done so.
func manageMemory() {
	if os.Getenv("GOGC")+os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(atFirst)
	debug.SetMemoryLimit(roomy)
	afterCollection(func() { debug.SetGCPercent(usual) })
	giveRoom(roomy)
}

// giveRoom raises the limit as more is in use: a limit that is too low would
// have the collector at work all the time.
func giveRoom(limit uint64) {
	afterCollection(func() {
		if need := inUse() / 2 * 3; need > limit {
			limit = need
			debug.SetMemoryLimit(int64(limit))
		}
		giveRoom(limit)
	})
}

// inUse is what the last collection found to be in use, in bytes.
func inUse() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}

// afterCollection calls f, once, when the next collection is done.
func afterCollection(f func()) {
	runtime.AddCleanup(new([16]byte), func(f func()) { f() }, f)
}
