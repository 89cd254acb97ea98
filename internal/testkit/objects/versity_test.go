package objects_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/testkit/objects"
)

// dying tells a test binary that was started by a test how to end.
const dying = "EBB_TESTKIT_DYING"

func TestVersityEndsWithItsTest(t *testing.T) {
	for _, how := range []string{"panic", "exit"} {
		t.Run(how, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDying$", "-test.v")
			cmd.Env = append(os.Environ(), dying+"="+how)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatal("it did not die")
			}
			_, rest, found := strings.Cut(string(out), "addr=")
			addr, _, _ := strings.Cut(rest, "\n")
			if !found {
				t.Fatalf("no address in\n%s", out)
			}
			for range 500 {
				conn, err := net.Dial("tcp", addr)
				if err != nil {
					return
				}
				_ = conn.Close()
				time.Sleep(10 * time.Millisecond)
			}
			t.Errorf("versitygw at %s outlives its test", addr)
		})
	}
}

// TestDying is the other side of TestVersityEndsWithItsTest.
func TestDying(t *testing.T) {
	how := os.Getenv(dying)
	if how == "" {
		return
	}
	addr := strings.TrimPrefix(objects.Versity(t).Endpoint, "http://")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	fmt.Println("addr=" + addr)
	if how == "exit" {
		os.Exit(3) // no clean-up runs, as where a test takes too long
	}
	panic("as asked")
}
