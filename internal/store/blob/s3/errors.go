package s3

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

var (
	// ErrNoConditions says that the server does not know conditional writes,
	// without which nobody can lock.
	ErrNoConditions = errors.New("the server does not know conditional writes, so no lock can be held: " +
		"make sure that nobody else cleans this storage, and run with --no-lock")

	errNoCredentials = errors.New("no credentials are found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or a role")
	errNoBucket      = errors.New("there is no such bucket")
	errRefused       = errors.New("the credentials are refused: check access key, secret key and session token")
	errClock         = errors.New("the clocks of this machine and of the server are too far apart: set the clock")
	errNotS3         = errors.New("the endpoint does not speak S3: check its URL")
	errUnreachable   = errors.New("the server cannot be reached: check endpoint and network")
	errChanged       = errors.New("the file changed while it was read")
)

// distrust is an answer that contradicts itself, an earlier one or the request.
type distrust struct{ what string }

func (e *distrust) Error() string { return "the server's answer cannot be trusted: " + e.what }

// garbled is an answer that was cut or cannot be understood.
type garbled struct{ what string }

func (e *garbled) Error() string { return "the server's answer cannot be understood: " + e.what }

// foreign is an answer in another language than S3's.
type foreign struct {
	status      int
	contentType string
}

func (e *foreign) Error() string {
	return fmt.Sprintf("%v (it answers with status %d and %s)", errNotS3, e.status, e.contentType)
}

func (e *foreign) Unwrap() error { return errNotS3 }

// operation is what was asked of the server, and what that needs.
type operation uint8

const (
	opList operation = iota
	opGet
	opHead // of the bucket
	opPut
	opDelete
	opVersioning
	opUploads
	opParts
	opAbort
)

// need is the permission that an operation takes, and where.
func (d *Driver) need(op operation) string {
	in := fmt.Sprintf("on %s/%s*", d.bucket, d.prefix)
	switch op {
	case opList:
		if d.prefix == "" {
			return "s3:ListBucket on bucket " + d.bucket
		}
		return fmt.Sprintf("s3:ListBucket on bucket %s for prefix %s", d.bucket, d.prefix)
	case opHead:
		return "s3:ListBucket on bucket " + d.bucket
	case opGet:
		return "s3:GetObject " + in + " (and s3:ListBucket, without which absent files look the same)"
	case opPut:
		return "s3:PutObject " + in
	case opDelete:
		return "s3:DeleteObject " + in
	case opVersioning:
		return "s3:GetBucketVersioning on bucket " + d.bucket
	case opUploads:
		return "s3:ListBucketMultipartUploads on bucket " + d.bucket
	case opParts:
		return "s3:ListMultipartUploadParts " + in
	default:
		return "s3:AbortMultipartUpload " + in
	}
}

// explain makes one sentence of a failure. Only what is known to be absent
// wraps fs.ErrNotExist. The context's error is returned as it is; a connection
// that took too long looks like one, and is none.
func (d *Driver) explain(ctx context.Context, op operation, path string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return d.wrap(path, d.sentence(op, err))
}

func (d *Driver) sentence(op operation, err error) error {
	if region := regionNamedBy(err); region != "" && region != d.api.Options().Region {
		return fmt.Errorf("the bucket is in region %s, not %s: give that region", region, d.api.Options().Region)
	}
	if said := d.known(op, codeOf(err)); said != nil {
		return said
	}
	switch statusOf(err) {
	case http.StatusForbidden:
		return d.forbidden(op)
	case 0:
		return unanswered(err)
	}
	return unknown(err)
}

// known is the sentence for a code that S3 defines, and nil for others.
func (d *Driver) known(op operation, code string) error {
	switch code {
	case "NoSuchBucket":
		return errNoBucket
	case "NoSuchKey":
		return iofs.ErrNotExist
	case "AccessDenied", "AllAccessDisabled", "Forbidden", "AccountProblem":
		return d.forbidden(op)
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "InvalidClientTokenId", "TokenRefreshRequired",
		"XAdminUserNotFound": // versitygw's, with status 404
		return fmt.Errorf("%w (%s)", errRefused, code)
	case "RequestTimeTooSkewed":
		return errClock
	case "NotImplemented", "MethodNotAllowed":
		return fmt.Errorf("%w by the server (%s)", errors.ErrUnsupported, code)
	}
	return nil
}

func (d *Driver) forbidden(op operation) error {
	return fmt.Errorf("%w: it takes %s", iofs.ErrPermission, d.need(op))
}

// unanswered is for failures without an answer, or with one that is not S3's.
// What the network says is only quoted: a time-out of its own would look like
// the context's.
func unanswered(err error) error {
	var dns *net.DNSError
	var network *net.OpError
	var sent *url.Error
	switch {
	case strings.Contains(err.Error(), "malformed HTTP"): // net/http has no type for it
		return fmt.Errorf("%w: it does not speak HTTP", errNotS3)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%w: it speaks http and not https", errNotS3)
	case untrusted(err):
		return fmt.Errorf("the server's certificate is not trusted: set AWS_CA_BUNDLE to a file with its authority: %w", root(err))
	case errors.As(err, &dns):
		return fmt.Errorf("%w: %s", errUnreachable, dns.Error())
	case errors.As(err, &network):
		return fmt.Errorf("%w: %s", errUnreachable, network.Error())
	case errors.As(err, &sent):
		return fmt.Errorf("%w: %s", errUnreachable, sent.Err.Error())
	}
	return root(err)
}

// unknown is for answers with a status that says little and a code that Ebb
// does not know, or none: the SDK then makes one of the status.
func unknown(err error) error {
	status := statusOf(err)
	var response *smithyhttp.ResponseError
	if status < http.StatusInternalServerError && errors.As(err, &response) && response.Response != nil {
		if kind := response.Response.Header.Get("Content-Type"); !xmlOrNothing(kind) {
			return &foreign{status, kind}
		}
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		return fmt.Errorf("the server says %s: %s (status %d)", api.ErrorCode(), api.ErrorMessage(), status)
	}
	return root(err)
}

func xmlOrNothing(contentType string) bool {
	return contentType == "" || strings.Contains(contentType, "xml")
}

// root leaves out what the SDK says around a failure: numbers of requests and
// names of operations.
func root(err error) error {
	var cut *garbled
	var refused *distrust
	var other *foreign
	var api smithy.APIError
	switch {
	case errors.As(err, &cut):
		return cut
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &other):
		return other
	case errors.As(err, &api):
		return api
	}
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		if inner := response.Unwrap(); inner != nil {
			return fmt.Errorf("status %d: %w", response.HTTPStatusCode(), inner)
		}
		return fmt.Errorf("the server answers with status %d", response.HTTPStatusCode())
	}
	var operation *smithy.OperationError
	if errors.As(err, &operation) {
		return operation.Unwrap()
	}
	return err
}

// regionNamedBy is the region that a refusal names, if it names one: in its
// header or, where the signature was for another one, in its text.
func regionNamedBy(err error) string {
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.Response != nil {
		if region := response.Response.Header.Get("x-amz-bucket-region"); region != "" {
			return region
		}
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return ""
	}
	if found := regexp.MustCompile(`expecting '([a-z0-9-]+)'`).FindStringSubmatch(api.ErrorMessage()); found != nil {
		return found[1]
	}
	return ""
}
