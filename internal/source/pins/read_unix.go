//go:build unix

package pins

import "syscall"

// nonBlocking keeps the opening of what became a pipe meanwhile from waiting.
const nonBlocking = syscall.O_NONBLOCK
