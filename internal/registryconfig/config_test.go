package registryconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShippedFiles(t *testing.T) {
	memory := Cache{Kind: MemoryCache}
	cases := []struct {
		file    string
		environ []string
		want    Config
	}{
		{file: "v2.yml", want: Config{
			Storage: Storage{Root: "/var/lib/registry"}, Cache: memory,
		}},
		{file: "v3.yml", want: Config{
			Storage: Storage{Root: "/var/lib/registry"}, Cache: memory,
		}},
		{file: "v2-cache.yml", want: Config{
			Storage:  Storage{Root: "/srv/registry-cache"},
			Cache:    Cache{Kind: RedisCache, Redis: Redis{Addrs: []string{"localhost:6379"}, DB: 2}},
			Upstream: "https://registry-1.docker.io",
		}},
		{file: "v3-cache.yml", want: Config{
			Storage: Storage{S3: &S3{
				Bucket: "images", Prefix: "registry", Region: "eu-central-1", Secure: true, V4Auth: true,
				AccessKey: "AKIAEXAMPLE", SecretKey: "secret-of-s3",
			}},
			Cache: Cache{Kind: RedisCache, Redis: Redis{
				Addrs: []string{"redis-0:6379", "redis-1:6379"}, TLS: true,
			}},
			ReadOnly: true,
		}},
		{
			file: "dvcr.yml",
			environ: []string{
				"REGISTRY_STORAGE_FILESYSTEM_ROOTDIRECTORY=/var/lib/registry",
				"REGISTRY_HTTP_TLS_CERTIFICATE=/etc/ssl/docker/tls.crt",
				"REGISTRY_HTTP_SECRET=secret",
				"REGISTRY_AUTH=htpasswd",
				`REGISTRY_STORAGE_MAINTENANCE_READONLY={"enabled":true}`,
			},
			want: Config{
				Storage: Storage{Root: "/var/lib/registry"}, Cache: memory,
				ReadOnly: true,
			},
		},
		{
			file: "dvcr.yml",
			environ: []string{
				"REGISTRY_STORAGE_S3_BUCKET=dvcr", "REGISTRY_STORAGE_S3_REGION=us-east-1",
				"REGISTRY_STORAGE_S3_REGIONENDPOINT=http://minio:9000", "REGISTRY_STORAGE_S3_FORCEPATHSTYLE=true",
				"REGISTRY_STORAGE_S3_ACCESSKEY=a", "REGISTRY_STORAGE_S3_SECRETKEY=secret",
			},
			want: Config{
				Storage: Storage{S3: &S3{
					Bucket: "dvcr", Region: "us-east-1", Endpoint: "http://minio:9000", ForcePathStyle: ptr(true),
					Secure: true, V4Auth: true, AccessKey: "a", SecretKey: "secret",
				}},
				Cache: memory,
			},
		},
	}
	for _, c := range cases {
		t.Run(c.file, func(t *testing.T) {
			got, err := Read(filepath.Join("testdata", c.file), c.environ)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if said := fmt.Sprintf("%v %+v %#v", got, got, got.Storage.S3); strings.Contains(said, "secret-of") {
				t.Errorf("a secret can be printed: %s", said)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

const filesystem = "version: 0.1\nstorage: {filesystem: {rootdirectory: /data}}\n"

func TestValues(t *testing.T) {
	s3 := func(parameters string) string {
		return "version: 0.1\nstorage: {s3: {bucket: b, region: r, " + parameters + "}}\n"
	}
	cases := []struct {
		reason  string
		text    string
		environ []string
		got     func(Config) any
		want    any
	}{
		{
			reason: "a driver's name alone is a section without parameters", text: "version: 0.1\nstorage: filesystem\n",
			got: func(c Config) any { return c.Storage.Root }, want: "/var/lib/registry",
		},
		{
			reason: "REGISTRY_STORAGE replaces the file's section before its parameters are set", text: filesystem,
			environ: []string{"REGISTRY_STORAGE_S3_REGION=r", "REGISTRY_STORAGE_S3_BUCKET=b", "REGISTRY_STORAGE=s3"},
			got:     func(c Config) any { return c.Storage.S3.Bucket }, want: "b",
		},
		{
			reason: "an older name of the driver", text: "version: 0.1\nstorage: {s3aws: {bucket: b, region: r}}\n",
			got: func(c Config) any { return c.Storage.S3.Bucket }, want: "b",
		},
		{
			reason: "the name of an older driver", text: "version: 0.1\nstorage: {s3goamz: {bucket: b, region: r}}\n",
			got: func(c Config) any { return c.Storage.S3.Bucket }, want: "b",
		},
		{
			reason: "the first of two variables counts", text: filesystem,
			environ: []string{"REGISTRY_PROXY_REMOTEURL=https://1", "REGISTRY_PROXY_REMOTEURL=https://2"},
			got:     func(c Config) any { return c.Upstream }, want: "https://1",
		},
		{
			reason: "an empty variable empties", text: filesystem + "proxy: {remoteurl: https://a}\n",
			environ: []string{"REGISTRY_PROXY_REMOTEURL="},
			got:     func(c Config) any { return c.Upstream }, want: "",
		},
		{
			reason: "a pull-through cache by variable", text: filesystem,
			environ: []string{"REGISTRY_PROXY_REMOTEURL=https://user:pass@mirror.example"},
			got:     func(c Config) any { return c.Upstream }, want: "https://mirror.example",
		},
		{
			reason: "any address at all makes a cache", text: filesystem + "proxy: {remoteurl: '#'}\n",
			got: func(c Config) any { return c.Upstream != "" }, want: true,
		},
		{
			reason: "YAML of the registry knows yes", text: s3("skipverify: yes"),
			got: func(c Config) any { return c.Storage.S3.SkipVerify }, want: true,
		},
		{
			reason: "text that Go calls a boolean", text: s3("secure: 'F', skipverify: '1'"),
			got: func(c Config) any { return []bool{c.Storage.S3.Secure, c.Storage.S3.SkipVerify} }, want: []bool{false, true},
		},
		{
			reason: "keys are written small; the registry does not see others", text: s3("forcePathStyle: true"),
			got: func(c Config) any { return c.Storage.S3.ForcePathStyle }, want: (*bool)(nil),
		},
		{
			reason: "without a word v2 takes the path for an endpoint", text: s3("regionendpoint: 'http://minio:9000'"),
			got: func(c Config) any { return c.Storage.S3.PathStyle() }, want: true,
		},
		{
			reason: "an explicit word holds", text: s3("regionendpoint: 'http://minio:9000', forcepathstyle: false"),
			got: func(c Config) any { return c.Storage.S3.PathStyle() }, want: false,
		},
		{
			reason: "Amazon has the bucket in the host name", text: s3(""),
			got: func(c Config) any { return c.Storage.S3.PathStyle() }, want: false,
		},
		{
			reason: "v3 wants no region with an endpoint", text: "version: 0.1\nstorage: {s3: {bucket: 7, regionendpoint: 'http://minio:9000'}}\n",
			got:  func(c Config) any { return *c.Storage.S3 },
			want: S3{Bucket: "7", Endpoint: "http://minio:9000", Secure: true, V4Auth: true},
		},
		{
			reason: "a mistake elsewhere is the registry's affair", text: filesystem + "log: {level: loud}\nhttp: {tls: {clientauth: nonsense}}\nredis: {dialtimeout: soon}\n",
			environ: []string{"REGISTRY_LOG_LEVEL=louder"},
			got:     func(c Config) any { return c.Storage.Root }, want: "/data",
		},
		{
			reason: "a cache of an unknown kind is none, and that is said", text: "version: 0.1\nstorage: {filesystem: {}, cache: {blobdescriptor: memcached}}\n",
			got:  func(c Config) any { return []any{c.Cache.Kind, c.Warnings} },
			want: []any{NoCache, []string{`storage.cache.blobdescriptor "memcached" is neither inmemory nor redis: the registry does without a cache`}},
		},
		{
			reason: "the registry ignores a variable below a section of its file", text: "version: 0.1\nstorage: {filesystem: {}, maintenance: {readonly: {enabled: false}}}\n",
			environ: []string{"REGISTRY_STORAGE_MAINTENANCE_READONLY_ENABLED=true"},
			got:     func(c Config) any { return []any{c.ReadOnly, c.Warnings} },
			want: []any{false, []string{"environment variable REGISTRY_STORAGE_MAINTENANCE_READONLY_ENABLED changes nothing: " +
				"the file already has a section there, which a variable can only replace as a whole"}},
		},
		{
			reason: "v3's list of addresses by variable", text: "version: 0.1\nstorage: {filesystem: {}, cache: {blobdescriptor: redis}}\n",
			environ: []string{"REGISTRY_REDIS_ADDRS=[a:1]", "REGISTRY_REDIS_DB=3"},
			got:     func(c Config) any { return c.Cache.Redis.URL() }, want: "redis://a:1/3",
		},
		{
			reason: "v2's address by variable", text: "version: 0.1\nstorage: {filesystem: {}, cache: {layerinfo: redis}}\n",
			environ: []string{"REGISTRY_REDIS_ADDR=b:2", "REGISTRY_REDIS_TLS_ROOTCAS=[/ca]"},
			got:     func(c Config) any { return c.Cache.Redis.URL() }, want: "rediss://b:2",
		},
		{
			reason: "v3's addresses stand before v2's", text: "version: 0.1\nstorage: {filesystem: {}, cache: {blobdescriptor: redis}}\nredis: {addr: 'old:1', addrs: ['new:1']}\n",
			got: func(c Config) any { return c.Cache.Redis.URL() }, want: "redis://new:1",
		},
		{
			reason: "sentinels alone know the server", text: "version: 0.1\nstorage: {filesystem: {}, cache: {blobdescriptor: redis}}\nredis: {addrs: [a:1, b:1], mastername: m}\n",
			got: func(c Config) any { return []any{c.Cache.Redis.URL(), c.Cache.Redis.Cluster()} }, want: []any{"", false},
		},
		{
			reason: "several addresses are a cluster, which has no databases", text: "version: 0.1\nstorage: {filesystem: {}, cache: {blobdescriptor: redis}}\nredis: {addrs: [a:1, b:1], db: 4}\n",
			got: func(c Config) any { return []any{c.Cache.Redis.URL(), c.Cache.Redis.Cluster()} }, want: []any{"redis://a:1", true},
		},
		{
			reason: "REGISTRY_REDIS_ADDRS_0 sets nothing", text: filesystem, environ: []string{"REGISTRY_REDIS_ADDRS_0=a:1"},
			got: func(c Config) any { return len(c.Warnings) }, want: 1,
		},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			config, err := parse([]byte(c.text), c.environ)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, c.got(config)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	s3 := func(parameters string) string { return "version: 0.1\nstorage: {s3: {" + parameters + "}}\n" }
	cases := []struct {
		text    string
		environ []string
		want    string
	}{
		{text: "", want: "it does not say version: 0.1"},
		{text: "storage: {filesystem: {}}\n", want: "it does not say version: 0.1"},
		{text: "version: 0.2\nstorage: filesystem\n", want: "it does not say version: 0.1"},
		{text: "version: 0.1\n", want: "it names no storage driver"},
		{text: "version: 0.1\nstorage: {cache: {blobdescriptor: inmemory}}\n", want: "it names no storage driver"},
		{text: "version: 0.1\n\nstorage:\n  s3: {}\n  filesystem: {}\n", want: "line 3: storage names more than one driver (filesystem, s3)"},
		{text: filesystem, environ: []string{"REGISTRY_STORAGE_S3_BUCKET=b"}, want: "storage names more than one driver (filesystem, s3)"},
		{text: filesystem, environ: []string{"REGISTRY_STORAGE={s3: {}, gcs: {}}"}, want: "environment variable REGISTRY_STORAGE: storage names more than one driver"},
		{text: "version: 0.1\nstorage:\n  filesystem: [secret]\n", want: "line 3: the registry can not use the value (!!seq)"},
		{text: "version: 0.1\nredis:\n  db: secret\n", want: "line 3: the registry can not use the value (!!str)"},
		{text: "version: 0.1\nstorage:\n\tfilesystem: {}\n", want: "line 3: found character that cannot start any token"},
		{text: "version: 0.1\nstorage: {s3: {secretkey: *secret}}\n", want: "a value begins with *"},
		{text: filesystem, environ: []string{"REGISTRY_STORAGE_FILESYSTEM_ROOTDIRECTORY=*secret"}, want: "environment variable REGISTRY_STORAGE_FILESYSTEM_ROOTDIRECTORY: the registry can not read its value"},
		{text: filesystem, environ: []string{"REGISTRY_REDIS_DB=secret"}, want: "environment variable REGISTRY_REDIS_DB: the registry can not read its value"},
		{text: "version: 0.1\nstorage: {gcs: {bucket: b}}\n", want: "storage is gcs, which Ebb can not clean"},
		{text: "version: 0.1\nstorage: azure\n", want: "storage is azure, which Ebb can not clean"},
		{text: "version: 0.1\nstorage: {oss: {}}\n", want: "storage is oss, which"},
		{text: "version: 0.1\nstorage: {swift: {}}\n", want: "storage is swift, which"},
		{text: "version: 0.1\nstorage: inmemory\n", want: "storage is inmemory: the content is gone"},
		{text: "version: 0.1\nstorage: floppy\n", want: `storage "floppy" is no driver`},
		{text: "version: 0.1\nstorage: {filesystem: {rootdirectory: data}}\n", want: `rootdirectory "data" begins where the registry was started`},
		{text: "version: 0.1\nstorage: {filesystem: {rootdirectory: }}\n", want: "rootdirectory is empty"},
		{text: s3("region: r"), want: "storage.s3: bucket is missing"},
		{text: s3("region: r, bucket: ''"), want: "storage.s3: bucket is missing"},
		{text: s3("bucket: b"), want: "storage.s3: region is missing"},
		{text: s3("bucket: b, region: r, secure: 1"), want: "storage.s3: secure is neither true nor false"},
		{text: s3("bucket: b, region: r, forcepathstyle: maybe"), want: "storage.s3: forcepathstyle is neither true nor false"},
		{text: s3("bucket: b, region: r, v4auth: false"), want: "storage.s3: v4auth is off"},
		{text: "version: 0.1\nstorage: {filesystem: {}, cache: {blobdescriptor: redis}}\n", want: "there is no address under redis"},
		{text: "version: 0.1\nstorage: {filesystem: {}, maintenance: {readonly: true}}\n", want: "storage.maintenance.readonly is no section"},
		{text: "version: 0.1\nstorage: {filesystem: {}, maintenance: {readonly: {enabled: 'true'}}}\n", want: "storage.maintenance.readonly.enabled is neither"},
		{text: filesystem, environ: []string{"REGISTRY_STORAGE_MAINTENANCE_READONLY_ENABLED=true"}, want: "storage.maintenance.readonly is no section"},
		{text: "version: 0.1\nstorage: {filesystem: {}, redirect: {}}\n", want: "storage.redirect.disable is neither"},
		{text: "version: 0.1\nstorage: {s3: {bucket: b, region: r, accelerate: perhaps}}\n", want: "accelerate is neither true nor false"},
	}
	for _, c := range cases {
		path := filepath.Join(t.TempDir(), "config.yml")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(path, c.environ)
		if err == nil {
			t.Errorf("%q with %q is no error, want %q", c.text, c.environ, c.want)
			continue
		}
		said := err.Error()
		if !strings.HasPrefix(said, "registry configuration "+path+": ") || !strings.Contains(said, c.want) {
			t.Errorf("%q: error %q, want %q", c.text, said, c.want)
		}
		if strings.Contains(said, "\n") || strings.Contains(said, "secret") {
			t.Errorf("error %q has a line break or a secret", said)
		}
	}
}

func TestUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, make([]byte, maxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "absent"): "no such file or directory: registry:3 has its file at",
		dir:                          "it can not be read (is a directory)",
		large:                        "it is larger than 1 MiB",
	} {
		_, err := Read(path, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), dir) != 1 {
			t.Errorf("%s: error %v, want %q and the path once", path, err, want)
		}
	}
}

func TestRemedy(t *testing.T) {
	for _, c := range []struct {
		cache Cache
		want  string
	}{
		{Cache{}, ""},
		{Cache{Kind: MemoryCache}, "restart the registry: it remembers in its memory which blobs there are"},
		{
			Cache{Kind: RedisCache, Redis: Redis{Addrs: []string{"h:6379"}, DB: 1}},
			"flush the registry's cache in Redis at redis://h:6379/1: a restart of the registry does not empty it",
		},
		{
			Cache{Kind: RedisCache, Redis: Redis{Addrs: []string{"a:1", "b:1"}, MasterName: "m"}},
			"flush the registry's cache in the Redis server that the sentinels at a:1, b:1 call m: a restart of the registry does not empty it",
		},
	} {
		if got := c.cache.Remedy(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.cache, got, c.want)
		}
	}
}

func TestServer(t *testing.T) {
	for _, c := range []struct {
		redis Redis
		want  string
	}{
		{Redis{}, ""},
		{Redis{Addrs: []string{"h:6379"}}, "h:6379"},
		{Redis{Addrs: []string{"a:1", "b:1"}}, ""},
		{Redis{Addrs: []string{"a:1"}, MasterName: "m"}, ""},
	} {
		if got, ok := c.redis.Server(); got != c.want || ok != (c.want != "") {
			t.Errorf("%+v: %q, %v; want %q", c.redis, got, ok, c.want)
		}
	}
}
