// Package faults proves that Ebb survives what goes wrong in a registry's
// storage: the conditions that stop or mislead the registry's own collector,
// reads and deletions that fail, and the end of the process at any moment.
//
// Its tests work on real folders where they can, and ask a real distribution
// server what is left. It has no code beside them.
package faults
