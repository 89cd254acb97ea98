// Package engines holds tests of Ebb on real Docker engines, of both kinds of
// image store, and of what these engines do. It has no code of its own.
package engines
