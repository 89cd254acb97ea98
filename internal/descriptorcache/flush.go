// Package descriptorcache empties the memory that a distribution registry keeps
// in Redis of which blobs there are. After a deletion such a registry answers
// for content that is gone, even after a restart, until this is done.
//
// It removes the keys that registries write, of v2 and v3, and refuses to touch
// any other: the server may have other users. It refuses servers on which keys
// would be left behind unseen, such as a replica or a sentinel.
package descriptorcache

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is how long a flush may take: a server of ten million keys is
// scanned in less.
const patience = 5 * time.Minute

// Flush removes a registry's descriptors from the Redis server at address,
// redis://[user:password@]host:port/db or rediss:// for TLS, and returns how
// many keys it removed, also with an error. Of a cluster it takes any node and
// flushes all. It may be called again. Its errors are one sentence that names
// the server and never the password.
func Flush(ctx context.Context, address string) (removed int64, err error) {
	options, err := parse(address)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	removed, err = flush(ctx, options)
	if err != nil {
		return removed, fmt.Errorf("registry's cache in Redis at %s: %w", options.Addr, explain(err, options.Password))
	}
	return removed, nil
}

// Target is the server and the database that an address leads to, with what it
// leaves out: host:port, or the path of a socket. The error is Flush's for an
// address that can be none.
func Target(address string) (server string, db int, err error) {
	options, err := parse(address)
	if err != nil {
		return "", 0, err
	}
	return options.Addr, options.DB, nil
}

func parse(address string) (*redis.Options, error) {
	options, err := redis.ParseURL(address)
	// The library's error may hold the password, and its default is a host that
	// nobody named.
	if u, bad := url.Parse(address); err != nil || bad != nil || u.Host+u.Path == "" || (u.Host == "" && u.Scheme != "unix") {
		return nil, errors.New("address of Redis: want redis://host:port/db or redis://user:password@host:port/db " +
			"(rediss:// for TLS; write what is special in a password as %xx)")
	}
	options.ContextTimeoutEnabled = true
	options.DisableIdentity = true // a command that a restricted user may not have
	return options, nil
}

func flush(ctx context.Context, options *redis.Options) (int64, error) {
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	info, err := client.Info(ctx).Result()
	if err != nil {
		return 0, err
	}
	switch mode := field(info, "redis_mode"); {
	case mode == "sentinel":
		return 0, refusal("it is a sentinel, which holds no keys: name the server that it watches over")
	case mode == "cluster":
		return flushCluster(ctx, options)
	case mode != "standalone":
		return 0, refusal("it does not say that it is a single server or a cluster, and keys may be elsewhere: flush the registry's cache by hand")
	case field(info, "role") != "master":
		return 0, refusal("it is a replica, which takes no writes: name its primary")
	}
	return flushNode(ctx, client)
}

// field is a line of the answer to INFO.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func flushCluster(ctx context.Context, options *redis.Options) (int64, error) {
	all := &redis.ClusterOptions{
		Addrs:    []string{options.Addr},
		Username: options.Username, Password: options.Password,
		TLSConfig:   options.TLSConfig,
		DialTimeout: options.DialTimeout, ReadTimeout: options.ReadTimeout, WriteTimeout: options.WriteTimeout,
		ContextTimeoutEnabled: true, DisableIdentity: true,
	}
	if all.TLSConfig != nil {
		all.TLSConfig = all.TLSConfig.Clone()
		all.TLSConfig.ServerName = "" // each node's own
	}
	cluster := redis.NewClusterClient(all)
	defer func() { _ = cluster.Close() }()
	var removed atomic.Int64
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		n, err := flushNode(ctx, node)
		removed.Add(n)
		return err
	})
	return removed.Load(), err
}

// batch is how many keys a server is asked to look at in one step; it answers
// others in between.
const batch = 1000

func flushNode(ctx context.Context, node *redis.Client) (int64, error) {
	var removed int64
	for _, pattern := range patterns() {
		var cursor uint64
		for {
			keys, next, err := node.Scan(ctx, cursor, pattern, batch).Result()
			if err != nil {
				return removed, err
			}
			n, err := remove(ctx, node, keys)
			removed += n
			if err != nil {
				return removed, err
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
	}
	return removed, nil
}

// remove unlinks those of the keys that are a registry's by name and by type.
// Each is a command of its own: those of a cluster's node lie in many slots.
func remove(ctx context.Context, node *redis.Client, keys []string) (int64, error) {
	kinds := map[string]*redis.StatusCmd{}
	if _, err := node.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, key := range keys {
			if kindOf(key) != "" {
				kinds[key] = pipe.Type(ctx, key)
			}
		}
		return nil
	}); err != nil {
		return 0, err
	}
	var unlinked []*redis.IntCmd
	_, err := node.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for key, kind := range kinds {
			if kind.Val() == kindOf(key) {
				unlinked = append(unlinked, pipe.Unlink(ctx, key))
			}
		}
		return nil
	})
	var removed int64
	for _, command := range unlinked {
		removed += command.Val()
	}
	return removed, err
}
