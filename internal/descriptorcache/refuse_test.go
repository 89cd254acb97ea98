package descriptorcache_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ebb-io/ebb/internal/descriptorcache"
	"github.com/ebb-io/ebb/internal/testkit/redis"
)

func TestRefusals(t *testing.T) {
	s := redis.Start(t)
	guarded := redis.Start(t, strings.Fields("--requirepass secret --user reader on >secret ~* +@read +info "+
		"--user registry on >secret ~* +info +scan +type +unlink +select")...)
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	replica := redis.Start(t, "--replicaof", host, port)
	admin := goredis.NewClient(&goredis.Options{Addr: guarded.Addr, Password: "secret"})
	defer func() { _ = admin.Close() }()
	n := addOwn(t, admin)

	cases := []struct{ url, want string }{
		{"redis://" + freeAddr(t), "it can not be reached: dial tcp"},
		{"redis://" + guarded.Addr, "it wants a password"},
		{"redis://:secret-x@" + guarded.Addr, "it refuses the user or the password"},
		{"redis://reader:secret-x@" + guarded.Addr, "it refuses the user or the password"},
		{"redis://reader:secret@" + guarded.Addr, "the user is not allowed to do this: it needs INFO, SCAN, TYPE and UNLINK"},
		{"redis://" + replica.Addr, "it is a replica, which takes no writes"},
		{"redis://" + s.Addr + "/99", "it answers ERR DB index is out of range"},
		{"secret", "want redis://host:port/db"},
		{"", "want redis://host:port/db"},
		{"redis://", "want redis://host:port/db"},
		{"redis:///0", "want redis://host:port/db"},
		{"http://:secret@h", "want redis://host:port/db"},
		{"redis://:secret%@h", "want redis://host:port/db"},
		{"redis://:secret@h/a", "want redis://host:port/db"},
	}
	for _, c := range cases {
		removed, err := descriptorcache.Flush(t.Context(), c.url)
		if err == nil || removed != 0 {
			t.Errorf("%s: removed %d, %v; want %q", c.url, removed, err, c.want)
			continue
		}
		if said := err.Error(); !strings.Contains(said, c.want) || strings.Contains(said, "secret") || strings.Contains(said, "\n") {
			t.Errorf("%s: error %q, want %q in one line and no secret", c.url, said, c.want)
		}
	}
	if got := int64(len(keys(t, admin))); got != n {
		t.Errorf("%d keys are left, want all %d", got, n)
	}
	// The rights that the sentence names are enough.
	if removed, err := descriptorcache.Flush(t.Context(), "redis://registry:secret@"+guarded.Addr+"/0"); err != nil || removed != n {
		t.Errorf("removed %d, %v; want %d", removed, err, n)
	}
}

func TestSentinel(t *testing.T) {
	s := redis.Start(t)
	config := filepath.Join(t.TempDir(), "sentinel.conf")
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte("sentinel monitor main "+host+" "+port+" 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel := redis.Sentinel(t, config)
	if _, err := descriptorcache.Flush(t.Context(), sentinel.URL()); err == nil || !strings.Contains(err.Error(), "it is a sentinel, which holds no keys") {
		t.Errorf("error %v, want one that says sentinel", err)
	}
}

// Servers and proxies that speak Redis and are something else.
func TestStrangers(t *testing.T) {
	for _, c := range []struct{ reason, auth, info, want string }{
		{"a server that repeats the password", "-ERR unknown command 'AUTH', with args: 'secret'\r\n", "", "it answers an error that repeats the password"},
		{"a proxy that does not say what is behind it", "+OK\r\n", "$13\r\nrole:master\r\n\r\n", "it does not say that it is a single server or a cluster"},
		{"a server that starts", "+OK\r\n", "-LOADING Redis is loading the dataset in memory\r\n", "it is still starting"},
	} {
		_, err := descriptorcache.Flush(t.Context(), "redis://:secret@"+fake(t, c.auth, c.info))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", c.reason, err, c.want)
		}
	}
}

// A short password is in every sentence: none of its letters are replaced there,
// and what the server said can still be asked for.
func TestShortPassword(t *testing.T) {
	_, err := descriptorcache.Flush(t.Context(), "redis://:e@"+fake(t, "+OK\r\n", "-ERR unknown command 'INFO' by 'e'\r\n"))
	if err == nil || !strings.HasSuffix(err.Error(), ": it answers an error that repeats the password") ||
		!strings.HasPrefix(err.Error(), "registry's cache in Redis at ") || !goredis.HasErrorPrefix(err, "unknown command") {
		t.Errorf("%v", err)
	}
}

// fake answers auth to AUTH, info to INFO, and knows no HELLO.
func fake(t *testing.T, auth, info string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				buffer := make([]byte, 4096)
				for {
					n, err := conn.Read(buffer)
					if err != nil {
						return
					}
					answer := "-ERR unknown command 'HELLO'\r\n"
					switch asked := strings.ToLower(string(buffer[:n])); {
					case strings.Contains(asked, "hello"):
					case strings.Contains(asked, "auth"):
						answer = auth
					case strings.Contains(asked, "info"):
						answer = info
					}
					if _, err := conn.Write([]byte(answer)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func TestSilence(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	said := make(chan error, 1)
	go func() {
		_, err := descriptorcache.Flush(ctx, "redis://"+listener.Addr().String()+"?read_timeout=1h")
		said <- err
	}()
	select {
	case err := <-said:
		if err == nil || !strings.Contains(err.Error(), "it did not answer in time") {
			t.Errorf("a server that says nothing: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it waits for ever")
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	return "127.0.0.1:" + freePort(t)
}
