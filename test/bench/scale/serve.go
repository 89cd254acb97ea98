package scale

import (
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"github.com/ebb-io/ebb/internal/testkit/objects"
)

// Bucket is the name of the one bucket that a registry serves as.
const Bucket = "images"

// ServeHTTP answers ListObjectsV2, GetObject and HeadObject, and that the bucket keeps no versions and has no uploads in
// parts. It asks for no credentials.
func (r *Registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
	query := request.URL.Query()
	switch {
	case bucket != Bucket:
		objects.WriteError(w, http.StatusNotFound, "NoSuchBucket", "the specified bucket does not exist")
	case request.Method != http.MethodGet && request.Method != http.MethodHead:
		objects.WriteError(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "this bucket is only to be read")
	case key != "":
		r.serveObject(w, request, key)
	case query.Get("list-type") == "2":
		r.serveList(w, request)
	case query.Has("versioning"):
		r.empty(w, "VersioningConfiguration")
	case query.Has("uploads"):
		r.empty(w, "ListMultipartUploadsResult")
	case request.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK)
	default:
		objects.WriteError(w, http.StatusNotImplemented, "NotImplemented", request.URL.RawQuery)
	}
}

func (r *Registry) serveList(w http.ResponseWriter, request *http.Request) {
	page, err := objects.ListPage(Bucket, request.URL.Query(), r)
	if err != nil {
		objects.WriteError(w, http.StatusBadRequest, "InvalidArgument", err.Error())
		return
	}
	page.Write(w)
}

func (r *Registry) serveObject(w http.ResponseWriter, request *http.Request, key string) {
	data, ok := r.Content(key)
	if !ok {
		objects.WriteError(w, http.StatusNotFound, "NoSuchKey", "the specified key does not exist")
		return
	}
	sum := md5.Sum(data)
	w.Header().Set("ETag", strconv.Quote(hex.EncodeToString(sum[:])))
	w.Header().Set("Last-Modified", r.stamp.UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	if request.Method == http.MethodGet {
		_, _ = w.Write(data) // the client may be gone
	}
}

func (r *Registry) empty(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/xml")
	_, _ = w.Write([]byte(`<` + name + ` xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></` + name + `>`))
}
