package registryconfig

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Storage is where a registry keeps its content: in a folder or, where S3 is
// not nil, in a bucket.
type Storage struct {
	Root string // the folder that holds docker/registry/v2, absolute; empty with S3
	S3   *S3
}

// Secret is text that no message shows.
type Secret string

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "(hidden)"
}

// GoString hides the secret.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// MarshalText hides the secret from documents.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// S3 is a bucket, with the defaults that the driver applies. The credentials
// count only where AccessKey and SecretKey are both there; else the registry
// takes those of its environment.
type S3 struct {
	Bucket string
	Prefix string // before docker/registry/v2, without a slash at either end; may be empty
	Region string // may be empty where Endpoint is not
	// Endpoint is another server than Amazon's: a host, or a URL.
	Endpoint string
	// ForcePathStyle is nil where the file does not say; see PathStyle.
	ForcePathStyle *bool // v2 does not know the key, and v3's default is false
	Secure         bool  // TLS, where Endpoint has no scheme; on by default
	SkipVerify     bool
	V4Auth         bool // off: signature version 2, for old servers alone
	AccessKey      Secret
	SecretKey      Secret
}

// PathStyle tells whether the bucket goes into the path of a URL rather than
// into its host name. Where the file does not say, v2 does so wherever there is
// an endpoint, and v3 never. The file does not tell its registry's version, and
// servers that can not do with the path style are few: so v2's rule is the answer.
func (s S3) PathStyle() bool {
	if s.ForcePathStyle != nil {
		return *s.ForcePathStyle
	}
	return s.Endpoint != ""
}

func (s sections) read() (Storage, error) {
	name, err := s.driver()
	if err != nil {
		return Storage{}, err
	}
	switch name {
	case "":
		return Storage{}, errors.New("it names no storage driver: set one under storage, or in REGISTRY_STORAGE")
	case "filesystem":
		root, err := s[name].root()
		return Storage{Root: root}, err
	case "s3", "s3aws", "s3goamz": // the last is an older library under the same parameters (v2.4 to v2.6)
		s3, err := s[name].s3()
		if err != nil {
			return Storage{}, fmt.Errorf("storage.%s: %w", name, err)
		}
		return Storage{S3: s3}, nil
	case "inmemory":
		return Storage{}, errors.New("storage is inmemory: the content is gone with the registry's process, and there is nothing to clean")
	case "gcs", "azure", "oss", "swift", "rados":
		return Storage{}, fmt.Errorf("storage is %s, which Ebb can not clean: it knows filesystem and s3", name)
	}
	return Storage{}, fmt.Errorf("storage %q is no driver of a registry: Ebb knows filesystem and s3", name)
}

// defaultRoot is the file system driver's.
const defaultRoot = "/var/lib/registry"

func (p parameters) root() (string, error) {
	const key = "storage.filesystem.rootdirectory"
	value, ok := p["rootdirectory"]
	if !ok {
		return defaultRoot, nil
	}
	root := fmt.Sprint(value)
	switch {
	case value == nil || root == "":
		return "", errors.New(key + " is empty: write the folder, or drop the key")
	case !path.IsAbs(root):
		return "", fmt.Errorf("%s %q begins where the registry was started, which the file does not tell: "+
			"give the folder itself with --storage", key, root)
	}
	return path.Clean(root), nil
}

func (p parameters) s3() (*S3, error) {
	s := &S3{
		Bucket:    p.text("bucket"),
		Prefix:    strings.Trim(p.text("rootdirectory"), "/"),
		Region:    p.text("region"),
		Endpoint:  p.text("regionendpoint"),
		AccessKey: Secret(p.text("accesskey")),
		SecretKey: Secret(p.text("secretkey")),
	}
	switch {
	case s.Region == "" && s.Endpoint == "":
		return nil, errors.New("region is missing, and the registry does not start without it")
	case s.Bucket == "":
		return nil, errors.New("bucket is missing, and the registry does not start without it")
	}
	var err error
	flag := func(name string, to *bool, otherwise bool) {
		var bad error
		if *to, bad = p.flag(name, otherwise); err == nil {
			err = bad
		}
	}
	flag("secure", &s.Secure, true)
	flag("skipverify", &s.SkipVerify, false)
	flag("v4auth", &s.V4Auth, true)
	for _, name := range []string{"usedualstack", "accelerate"} { // other addresses of the same bucket
		flag(name, new(bool), false)
	}
	if p["forcepathstyle"] != nil {
		s.ForcePathStyle = new(bool)
		flag("forcepathstyle", s.ForcePathStyle, false)
	}
	if err != nil {
		return nil, err
	}
	if !s.V4Auth && (s.Endpoint == "" || strings.Contains(s.Endpoint, "s3.amazonaws.com")) {
		return nil, errors.New("v4auth is off, and the registry does not start with that on Amazon S3")
	}
	return s, nil
}

// text is a parameter as the drivers read it: a number is text as well.
func (p parameters) text(name string) string {
	if p[name] == nil {
		return ""
	}
	return fmt.Sprint(p[name])
}

// flag takes what the drivers take: a boolean, or text that Go calls one. A
// number is neither.
func (p parameters) flag(name string, otherwise bool) (bool, error) {
	switch value := p[name].(type) {
	case nil:
		return otherwise, nil
	case bool:
		return value, nil
	case string:
		if b, err := strconv.ParseBool(value); err == nil {
			return b, nil
		}
	}
	return false, fmt.Errorf("%s is neither true nor false, and the registry does not start with it", name)
}
