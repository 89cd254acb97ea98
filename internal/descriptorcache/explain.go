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

// explain says of an error what to do about it. The password stands in none.
func explain(err error, password string) error {
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
		return fmt.Errorf("the user is not allowed to do this: it needs INFO, SCAN, TYPE and UNLINK, in a cluster CLUSTER too, for all keys (%w)", hide(err, password))
	case says("READONLY"):
		return errors.New("it is a replica, which takes no writes: name its primary")
	case says("LOADING"):
		return errors.New("it is still starting: try again")
	case errors.As(err, &network):
		return fmt.Errorf("it can not be reached: %w", err)
	}
	return fmt.Errorf("it answers %w", hide(err, password))
}

// hidden is an error of a server that repeats the password, as some do.
type hidden struct{ error }

func (hidden) Error() string   { return "an error that repeats the password" }
func (h hidden) Unwrap() error { return h.error }

func hide(err error, password string) error {
	if password != "" && strings.Contains(err.Error(), password) {
		return hidden{err}
	}
	return err
}
