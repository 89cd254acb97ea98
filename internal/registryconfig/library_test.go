package registryconfig

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sirupsen/logrus"
	"pgregory.net/rapid"
)

// TestMain takes the registry's variables out of the environment, where its
// library reads them, and the library's warnings off the tests' output.
func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "rapid.checks" })
	if !chosen {
		_ = flag.Set("rapid.checks", "10000")
	}
	logrus.SetOutput(io.Discard)
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, prefix) {
			_ = os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

// library is what the registry itself reads; it panics where it would not start.
func library(text string, environ map[string]string) (config *configuration.Configuration, err error) {
	for name, value := range environ {
		_ = os.Setenv(name, value)
		defer func() { _ = os.Unsetenv(name) }()
	}
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	return configuration.Parse(strings.NewReader(text))
}

// ours reads the same, up to where the library ends.
func ours(text string, environ map[string]string) (*file, error) {
	pairs := make([]string, 0, len(environ))
	for name, value := range environ {
		pairs = append(pairs, name+"="+value)
	}
	f, err := decode([]byte(text))
	if err != nil {
		return nil, err
	}
	if err := f.override(pairs); err != nil {
		return nil, err
	}
	_, err = f.Storage.driver()
	return f, err
}

// view is what both read.
type view struct {
	Storage                         map[string]map[string]any
	Upstream                        string
	Addrs                           []string
	DB                              int
	Username, Password, Master, Key string
	CAs                             []string
}

func viewOfLibrary(c *configuration.Configuration) view {
	v := view{
		Storage: map[string]map[string]any{}, Upstream: c.Proxy.RemoteURL,
		Addrs: c.Redis.Options.Addrs, DB: c.Redis.Options.DB, Username: c.Redis.Options.Username,
		Password: c.Redis.Options.Password, Master: c.Redis.Options.MasterName, Key: c.Redis.TLS.Key, CAs: c.Redis.TLS.RootCAs,
	}
	for name, section := range c.Storage {
		v.Storage[name] = section
	}
	return v
}

func viewOfOurs(f *file) view {
	v := view{
		Storage: map[string]map[string]any{}, Upstream: f.Proxy.RemoteURL,
		Addrs: f.Redis.Addrs, DB: f.Redis.DB, Username: f.Redis.Username,
		Password: f.Redis.Password, Master: f.Redis.MasterName, Key: f.Redis.TLS.Key, CAs: f.Redis.TLS.RootCAs,
	}
	for name, section := range f.Storage {
		v.Storage[name] = section
	}
	return v
}

var (
	scalars = []string{
		"", "~", "s3", "filesystem", "/data", "true", "yes", "off", "1", "0x10", "010", "1.5", "'1'", "true ", "a b",
		`""`, "!!str 5", "a: b", "a: b: c", "*x", "'", "- x", "[a, b]", "[a, {b: c}]", "{}", "{a: b}", `{"enabled":true}`, "{enabled: true, a: {b: c}}",
		"{s3: {bucket: b}}", "{filesystem: {rootdirectory: /x}}", "{s3: {}, filesystem: {}}", "{addrs: [a, b], db: 2}", "{rootcas: [x], key: k}",
		"{remoteurl: https://a}", "{addr: ':1', prefix: /p/}", "[{s3: {}}]", "&a {b: c}", "{1: 2}", "<<: {a: b}",
	}
	sectionNames   = []string{"FILESYSTEM", "S3", "S3", "CACHE", "MAINTENANCE", "DELETE", "REDIRECT", "TAG", "s3", "", "GCS"}
	parameterNames = []string{"ROOTDIRECTORY", "BUCKET", "READONLY", "BLOBDESCRIPTOR", "A", "B", "ENABLED", "a", "0", ""}
	otherNames     = []string{
		"PROXY", "PROXY_REMOTEURL", "REDIS_ADDRS", "REDIS_DB", "REDIS_USERNAME",
		"REDIS_PASSWORD", "REDIS_MASTERNAME", "REDIS_TLS_KEY", "REDIS_TLS_ROOTCAS", "REDIS_NOTHING", "NOTHING", "", "STORAGE_",
		"proxy_remoteurl", "PROXY_remoteurl", "CONFIGURATION_PATH",
	}
)

func variable(t *rapid.T) string {
	if rapid.IntRange(0, 2).Draw(t, "other") == 0 {
		return prefix + rapid.SampledFrom(otherNames).Draw(t, "name")
	}
	path := []string{"STORAGE"}
	depth := rapid.SampledFrom([]int{0, 1, 2, 2, 2, 3, 3, 4}).Draw(t, "depth")
	for i := range depth {
		names := parameterNames
		if i == 0 {
			names = sectionNames
		}
		path = append(path, rapid.SampledFrom(names).Draw(t, "part"))
	}
	return prefix + strings.Join(path, "_")
}

func text(t *rapid.T) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: %s\n", rapid.SampledFrom([]string{"0.1", "0.1", "0.1", "0.1", "0.1", "0.1", "'0.1'", "0.10", "0.2", "x"}).Draw(t, "version"))
	value := func() string { return rapid.SampledFrom(scalars).Draw(t, "value") }
	switch rapid.IntRange(0, 4).Draw(t, "storage") {
	case 0: // none
	case 1:
		fmt.Fprintf(&b, "storage: %s\n", value())
	default:
		b.WriteString("storage:\n")
		for range rapid.IntRange(0, 3).Draw(t, "sections") {
			fmt.Fprintf(&b, "  %s:\n", strings.ToLower(rapid.SampledFrom(sectionNames[:9]).Draw(t, "section")))
			for range rapid.IntRange(0, 3).Draw(t, "parameters") {
				fmt.Fprintf(&b, "    %s: %s\n", strings.ToLower(rapid.SampledFrom(parameterNames[:7]).Draw(t, "parameter")), value())
			}
		}
	}
	for _, section := range []string{"proxy:\n  remoteurl", "redis:\n  addrs", "redis", "unknown"} {
		if rapid.IntRange(0, 4).Draw(t, "section") == 0 {
			fmt.Fprintf(&b, "%s: %s\n", section, value())
		}
	}
	return b.String()
}

// The registry and Ebb read the same from any file and any variables, and
// refuse the same.
func TestSameAsLibrary(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		file := text(t)
		environ := map[string]string{}
		for range rapid.IntRange(0, 5).Draw(t, "variables") {
			environ[variable(t)] = rapid.SampledFrom(scalars).Draw(t, "value")
		}
		if compare(t, file, environ) {
			accepted++
		}
	})
	if accepted == 0 {
		t.Error("the registry accepted no file at all")
	}
}

func compare(t rapid.TB, file string, environ map[string]string) bool {
	theirs, refused := library(file, environ)
	mine, err := ours(file, environ)
	if refused != nil && strings.Contains(refused.Error(), "no storage configuration provided") {
		refused = nil // a file without a driver is refused later here
		if err == nil {
			if _, err := mine.Storage.read(); err == nil {
				t.Errorf("no driver, and no error\n%s\n%q", file, environ)
			}
		}
		return false
	}
	if (refused == nil) != (err == nil) {
		t.Fatalf("the registry says %v, Ebb says %v\n%s\n%q", refused, err, file, environ)
	}
	if err != nil {
		return false
	}
	if diff := cmp.Diff(viewOfLibrary(theirs), viewOfOurs(mine), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("-registry +Ebb\n%s\n%s\n%q", diff, file, environ)
	}
	return true
}

func TestShippedFilesAreReadAsTheLibraryDoes(t *testing.T) {
	for _, name := range []string{"v2.yml", "v2-cache.yml", "v3.yml", "v3-cache.yml"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !compare(t, string(text), nil) {
			t.Errorf("%s: refused", name)
		}
	}
}

// Corners that random files seldom reach.
func TestCornersAreReadAsTheLibraryDoes(t *testing.T) {
	s3 := func(parameters string) string { return "version: 0.1\nstorage: {s3: {" + parameters + "}}\n" }
	for _, c := range []struct {
		reason, file, name, value string
		accepted                  bool
	}{
		{"an empty parameter becomes a section", s3("a: "), "REGISTRY_STORAGE_S3_A_B", "x", true},
		{"a parameter is no section", s3("a: b"), "REGISTRY_STORAGE_S3_A_B", "x", true},
		{"an empty section is made anew", "version: 0.1\nstorage: {s3: }\n", "REGISTRY_STORAGE_S3_A", "x", true},
		{"a section in capitals is found", "version: 0.1\nstorage: {S3: {A: b}}\n", "REGISTRY_STORAGE_S3_A", "x", true},
		{"a variable in small letters finds nothing", s3("a: b"), "REGISTRY_STORAGE_s3_C", "x", true},
		{"an item of a list stays", s3("a: [b, c]"), "REGISTRY_STORAGE_S3_A_1", "x", true},
		{"a section in a list stays", s3("a: [{b: c}]"), "REGISTRY_STORAGE_S3_A_0_B", "x", true},
		{"no item is added to a list", s3("a: [b, c]"), "REGISTRY_STORAGE_S3_A_2", "x", false},
		{"no item lies before a list", s3("a: [b, c]"), "REGISTRY_STORAGE_S3_A_-1", "x", false},
		{"an item has a number", s3("a: [b, c]"), "REGISTRY_STORAGE_S3_A_B", "x", false},
		{"a list in a list", s3("a: [[b]]"), "REGISTRY_STORAGE_S3_A_0", "x", false},
		{"nothing in a list", s3("a: [~]"), "REGISTRY_STORAGE_S3_A_0", "x", false},
		{"an unknown variable is no YAML to anyone", s3("a: b"), "REGISTRY_REDIS_NOTHING", "*", true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if accepted := compare(t, c.file, map[string]string{c.name: c.value}); accepted != c.accepted {
				t.Errorf("accepted %v, want %v", accepted, c.accepted)
			}
		})
	}
}

// Whatever a file holds, what Ebb accepts the registry's library reads alike.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"v2.yml", "v2-cache.yml", "v3.yml", "v3-cache.yml", "dvcr.yml"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, "REGISTRY_STORAGE_FILESYSTEM_ROOTDIRECTORY", "/data")
	}
	f.Add([]byte(filesystem), "REGISTRY_STORAGE", "s3")
	f.Fuzz(func(t *testing.T, text []byte, name, value string) {
		config, err := parse(text, []string{name + "=" + value})
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error of several lines: %q", err)
			}
			return
		}
		if (config.Storage.S3 == nil) == (config.Storage.Root == "") {
			t.Errorf("storage %+v is neither a folder nor a bucket", config.Storage)
		}
		// Redis under its inner name, and the items of its list, are no use to anyone.
		if name == "" || strings.ContainsAny(name+value, "\x00=") || strings.HasPrefix(name, "REGISTRY_REDIS_OPTIONS") ||
			strings.HasPrefix(name, "REGISTRY_REDIS_ADDRS_") {
			return
		}
		theirs, refused := library(string(bytes.Clone(text)), map[string]string{name: value})
		if refused != nil {
			return // for a section that Ebb does not read
		}
		mine, err := ours(string(text), map[string]string{name: value})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(viewOfLibrary(theirs), viewOfOurs(mine), cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("-registry +Ebb\n%s", diff)
		}
	})
}
