package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// describeMachine says on what the figures were measured, without the name of a host or a folder.
func describeMachine(dir string) string {
	return fmt.Sprintf("%d CPUs (%s), %s memory, Linux %s, %s, %s, warm page cache.",
		runtime.NumCPU(), processor(), memory(), kernel(), fileSystem(dir), strings.Replace(runtime.Version(), "go", "Go ", 1))
}

func processor() string {
	return firstMatch("/proc/cpuinfo", regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`), runtime.GOARCH)
}

func memory() string {
	kib, err := strconv.ParseInt(firstMatch("/proc/meminfo", regexp.MustCompile(`MemTotal:\s+(\d+) kB`), ""), 10, 64)
	if err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.0f GB", float64(kib)*1024/1e9)
}

// kernel is its version alone, without what a distributor appended.
func kernel() string {
	return firstMatch("/proc/sys/kernel/osrelease", regexp.MustCompile(`^(\d+\.\d+)`), "unknown")
}

func firstMatch(path string, pattern *regexp.Regexp, otherwise string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return otherwise
	}
	if m := pattern.FindSubmatch(data); m != nil {
		return string(m[1])
	}
	return otherwise
}

func fileSystem(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "unknown file system"
	}
	names := map[int64]string{
		unix.EXT4_SUPER_MAGIC:      "ext4",
		unix.XFS_SUPER_MAGIC:       "XFS",
		unix.BTRFS_SUPER_MAGIC:     "Btrfs",
		unix.TMPFS_MAGIC:           "tmpfs",
		unix.OVERLAYFS_SUPER_MAGIC: "overlayfs",
		unix.NFS_SUPER_MAGIC:       "NFS",
	}
	if name, ok := names[int64(st.Type)]; ok { // the type differs between architectures
		return name
	}
	return fmt.Sprintf("file system %#x", st.Type)
}
