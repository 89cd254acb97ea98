package host

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"syscall"
	"time"

	"github.com/ebb-io/ebb/internal/cli"
)

// notify hands a result to the command that was named. It has its time even
// when the watch is about to end.
func (w *watch) notify(ctx context.Context, result []byte) {
	if w.flags.notify == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.notifyFor)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", w.flags.notify)
	cmd.Stdin = bytes.NewReader(result)
	cmd.Stdout, cmd.Stderr = w.Err, w.Err
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // sh would be killed alone
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // what it leaves behind keeps nobody waiting
	if err := cmd.Run(); err != nil {
		w.log.Warn("the notification failed", "command", w.flags.notify, "error", oneLine(err))
	}
}

// serve answers Prometheus until the function that it returns is called.
func (w *watch) serve() (stop func(), err error) {
	if w.flags.address == "" {
		return func() {}, nil
	}
	listener, err := listen(w.flags.address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", w.metrics.Handler())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // it ends when it is closed
	w.log.Info("metrics are served", "address", listener.Addr().String())
	return func() { _ = server.Close() }, nil
}

// listen tells a mistake in an address from one that can not be had now, which a
// service manager may try again.
func listen(address string) (net.Listener, error) {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return nil, cli.Usagef("--metrics %s: %w", address, err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics %s: %w", address, err)
	}
	return listener, nil
}
