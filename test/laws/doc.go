// Package laws holds the laws that every plan and every run must obey, as
// properties over random worlds and random faults. See docs/architecture.md
// for their words.
//
// It has no code of its own: only tests.
package laws
