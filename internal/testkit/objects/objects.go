// Package objects gives tests the servers that an S3 driver stands on: Fake, in
// the process, which counts, lies and fails as a test asks; Versity, a real S3
// server as a process of its own; and Registry, a real registry whose storage
// is a bucket of either.
//
//	f := objects.NewFake(t)
//	w := world.New(f.Store(""))
//	f.Inject(objects.NthOf(3, objects.Operation(objects.Get)), objects.Answer(503, "SlowDown"))
//	client := f.Client()
//
// It knows nothing of Ebb, so that what it proves shares no code with what it
// tests. It refuses to be used outside tests: the fake asks for no credentials,
// and all of it listens on loopback alone.
package objects

import (
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Bucket is a bucket on a server that runs, and what it takes to get there.
type Bucket struct {
	Endpoint  string // http://host:port; names of buckets go into the path
	Name      string
	Region    string
	AccessKey string
	SecretKey string
}

// Client is the client of the AWS SDK for the bucket's server. It does not try
// again what fails, so that a test counts its own requests.
func (b Bucket) Client(change ...func(*s3.Options)) *s3.Client {
	options := s3.Options{
		BaseEndpoint: aws.String(b.Endpoint),
		Region:       b.Region,
		Credentials:  credentials.NewStaticCredentialsProvider(b.AccessKey, b.SecretKey, ""),
		UsePathStyle: true,
		Retryer:      aws.NopRetryer{},
	}
	return s3.New(options, change...)
}

// URL is the bucket as --storage takes it; root is the folder in it that the
// storage begins at, or empty.
func (b Bucket) URL(root string) string {
	query := url.Values{"endpoint": {b.Endpoint}, "region": {b.Region}, "forcepathstyle": {"true"}}
	return (&url.URL{Scheme: "s3", Host: b.Name, Path: root, RawQuery: query.Encode()}).String()
}

// Parameters are what distribution's s3 driver is configured with, under the
// names that its configuration file has for them.
func (b Bucket) Parameters(root string) map[string]any {
	return map[string]any{
		"bucket": b.Name, "region": b.Region, "regionendpoint": b.Endpoint, "forcepathstyle": true,
		"accesskey": b.AccessKey, "secretkey": b.SecretKey, "secure": false, "rootdirectory": root,
	}
}
