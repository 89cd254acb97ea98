//go:build !linux

package engines

import "syscall"

func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
