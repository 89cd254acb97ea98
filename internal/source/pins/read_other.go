//go:build !unix

package pins

const nonBlocking = 0
