package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// Options say which bucket it is and how to reach it. What is left empty is
// taken from where the tools of AWS take it: environment, shared files and
// profiles, web identity, the role of the machine.
type Options struct {
	Bucket string
	Prefix string // of all keys, without slashes around it; "" is the whole bucket

	Endpoint  string // URL of a server other than AWS; also AWS_ENDPOINT_URL_S3
	Region    string // else AWS_REGION or the profile's; else, on AWS, the bucket is asked
	PathStyle *bool  // nil: only where there is an endpoint

	AccessKey, SecretKey, SessionToken string // all empty: the usual chain

	// SkipVerify takes any certificate of the endpoint; whoever gives out the
	// credentials must have a good one. Else AWS_CA_BUNDLE, or ca_bundle in a
	// profile, names the authorities to trust in place of the system's.
	SkipVerify bool

	MaxRequestsPerSecond float64 // 0: no limit
}

const (
	connectTime = 5 * time.Second
	// silence is how long a server may send nothing on a connection in use.
	silence = time.Minute
	// defaultRegion is what servers other than AWS mostly call themselves.
	defaultRegion = "us-east-1"
)

func (o Options) check() error {
	if o.Bucket == "" {
		return errors.New("no bucket is named")
	}
	if err := blob.CheckDir(o.Prefix); err != nil {
		return fmt.Errorf("prefix: %w", err)
	}
	if (o.AccessKey == "") != (o.SecretKey == "") {
		return errors.New("of access key and secret key only one is given")
	}
	if o.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the endpoint must be a URL such as https://s3.example.org") // it may hold a secret
	}
	if u.User != nil {
		return errors.New("the endpoint must not hold credentials")
	}
	return nil
}

// client is a client that does not retry: the driver does.
func (o Options) client(ctx context.Context) (*sdk.Client, *sender, error) {
	cfg, err := config.LoadDefaultConfig(ctx, o.load(transport())...)
	if err != nil {
		return nil, nil, fmt.Errorf("configuration of AWS: %w", err)
	}
	send := newSender(staying(o.unverified(cfg.HTTPClient)), o.MaxRequestsPerSecond)
	client := sdk.NewFromConfig(cfg, func(s *sdk.Options) {
		s.HTTPClient = send
		s.Retryer = aws.NopRetryer{}
		// The age of files is judged by this machine's clock: a wrong one is
		// an error and nothing to work around.
		s.DisableClockSkewCorrection = true
		// Checksums that servers other than AWS do not know; what must not
		// change on its way is signed.
		s.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		s.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		if o.Endpoint != "" {
			s.BaseEndpoint = aws.String(strings.TrimSuffix(o.Endpoint, "/"))
		}
		s.UsePathStyle = s.BaseEndpoint != nil
		if o.PathStyle != nil {
			s.UsePathStyle = *o.PathStyle
		}
		if s.Region == "" && s.BaseEndpoint != nil {
			s.Region = defaultRegion
		}
	})
	return client, send, nil
}

func (o Options) load(transport *awshttp.BuildableClient) []func(*config.LoadOptions) error {
	load := []func(*config.LoadOptions) error{
		config.WithHTTPClient(transport),
		config.WithLogger(logging.Nop{}), // else it warns on the process's standard error
	}
	if o.Region != "" {
		load = append(load, config.WithRegion(o.Region))
	}
	if o.AccessKey != "" {
		static := credentials.NewStaticCredentialsProvider(o.AccessKey, o.SecretKey, o.SessionToken)
		load = append(load, config.WithCredentialsProvider(static))
	}
	return load
}

func transport() *awshttp.BuildableClient {
	dialer := &net.Dialer{Timeout: connectTime}
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return patient{c}, nil
		}
		t.TLSHandshakeTimeout = connectTime
		t.MaxIdleConnsPerHost = inFlight
		t.MaxIdleConns = inFlight
		if t.TLSClientConfig == nil {
			t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
	})
}

// unverified is the client for S3 alone, where any certificate will do: those
// who give out credentials are not meant.
func (o Options) unverified(client aws.HTTPClient) aws.HTTPClient {
	loaded, ok := client.(*awshttp.BuildableClient)
	if !ok || !o.SkipVerify {
		return client
	}
	return loaded.WithTransportOptions(func(t *http.Transport) { t.TLSClientConfig.InsecureSkipVerify = true })
}

// staying is a client that follows no redirection: a bucket that is elsewhere is
// named in the answer, and each request is counted and kept to the rate.
func staying(client aws.HTTPClient) aws.HTTPClient {
	loaded, ok := client.(*awshttp.BuildableClient)
	if !ok {
		return client
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: loaded.GetTransport(), CheckRedirect: stay}
}

// patient is a connection whose server may be slow but not silent.
type patient struct{ net.Conn }

func (c patient) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write starts the wait for an answer anew: the read that gets it may hang
// since long before.
func (c patient) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
