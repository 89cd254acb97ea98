package objects

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"io"
	"net/http"
	"strings"
)

// The operations that a fake tells apart, by the names that S3 gives them.
const (
	List           = "ListObjectsV2"
	Get            = "GetObject"
	Head           = "HeadObject"
	Put            = "PutObject"
	Copy           = "CopyObject"
	Delete         = "DeleteObject"
	DeleteMany     = "DeleteObjects"
	ListVersions   = "ListObjectVersions"
	Versioning     = "GetBucketVersioning"
	HeadBucket     = "HeadBucket"
	ListUploads    = "ListMultipartUploads"
	CreateUpload   = "CreateMultipartUpload"
	UploadPart     = "UploadPart"
	ListParts      = "ListParts"
	CompleteUpload = "CompleteMultipartUpload"
	AbortUpload    = "AbortMultipartUpload"
	Unknown        = "Unknown"
)

// Call is one request.
type Call struct {
	N         int    // from 1, since the fake began or Reset
	Operation string // one of the constants
	Key       string // of the object; what a listing asked for as its prefix
	Keys      []string
	Header    http.Header // of the request
}

// names has an operation for a method and for what else tells it apart.
var names = map[string]string{
	"GET object": Get, "HEAD object": Head, "PUT object": Put, "DELETE object": Delete,
	"HEAD bucket": HeadBucket, "POST delete": DeleteMany, "GET list-type": List,
	"GET versions": ListVersions, "GET versioning": Versioning,
	"GET uploads": ListUploads, "POST uploads": CreateUpload, "PUT uploadId": UploadPart,
	"GET uploadId": ListParts, "POST uploadId": CompleteUpload, "DELETE uploadId": AbortUpload,
}

// OperationOf is which of the constants a request asks for.
func OperationOf(r *http.Request) string {
	operation := cmp.Or(names[r.Method+" "+subject(r, keyOf(r))], Unknown)
	if operation == Put && r.Header.Get("X-Amz-Copy-Source") != "" {
		return Copy
	}
	return operation
}

func keyOf(r *http.Request) string {
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return key
}

// read tells what a request is; the body of one that names keys is read and put
// back.
func read(r *http.Request) (Call, error) {
	call := Call{Operation: OperationOf(r), Key: keyOf(r), Header: r.Header}
	switch {
	case call.Operation == DeleteMany:
		return call, call.readKeys(r)
	case call.Key == "":
		call.Key = r.URL.Query().Get("prefix")
	}
	return call, nil
}

func subject(r *http.Request, key string) string {
	query := r.URL.Query()
	for _, name := range []string{"uploadId", "uploads", "versioning", "versions", "delete", "list-type"} {
		if query.Has(name) {
			return name
		}
	}
	if key == "" {
		return "bucket"
	}
	return "object"
}

// deletion is the body of DeleteObjects.
type deletion struct {
	XMLName xml.Name `xml:"Delete"`
	Objects []struct {
		Key string
	} `xml:"Object"`
	Quiet bool
}

func (c *Call) readKeys(r *http.Request) error {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	var body deletion
	if err := xml.Unmarshal(raw, &body); err != nil {
		return err
	}
	for _, o := range body.Objects {
		c.Keys = append(c.Keys, o.Key)
	}
	return nil
}
