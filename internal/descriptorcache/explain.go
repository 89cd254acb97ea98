package descriptorcache

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// refusal is a sentence that says what to do already.
type refusal string

func (r refusal) Error() string { return string(r) }

// explain says of an error what to do about it.
func explain(err error) error {
	says := func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) }
	var network net.Error
	var own refusal
	switch {
	case errors.As(err, &own), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("it did not answer in time: is it busy, or behind a firewall?")
	case says("NOAUTH"):
		return errors.New("it wants a password: write redis://:password@host:port/db")
	case says("WRONGPASS"), says("invalid password"), says("AUTH <password> called without any password"):
		return errors.New("it refuses the user or the password")
	case says("NOPERM"):
		return fmt.Errorf("the user is not allowed to do this: it needs INFO, SCAN, TYPE and UNLINK, in a cluster CLUSTER too, for all keys (%w)", err)
	case says("READONLY"):
		return errors.New("it is a replica, which takes no writes: name its primary")
	case says("LOADING"):
		return errors.New("it is still starting: try again")
	case errors.As(err, &network):
		return fmt.Errorf("it can not be reached: %w", err)
	}
	return fmt.Errorf("it answers %w", err)
}

// hide takes a password out of an error, which some servers repeat.
func hide(err error, password string) error {
	if password == "" || !strings.Contains(err.Error(), password) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), password, "(password)"))
}
