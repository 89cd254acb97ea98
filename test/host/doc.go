// Package host holds laws and faults of whole passes over a Docker host: the
// real parts of Ebb together, over an engine for tests of both kinds of image
// store. It has no code of its own.
package host
