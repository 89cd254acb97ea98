package s3

import (
	"errors"
	iofs "io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ebb-io/ebb/internal/store/blob"
)

const oneUpload = "<Upload><Key>a/b</Key><UploadId>1</UploadId><Initiated>2024-02-29T23:59:58.000Z</Initiated></Upload>"

// uploads answers to ListMultipartUploads by lists, one after the other, and to
// ListParts of a/b by parts; no other upload is there.
func uploads(t *testing.T, parts []string, lists ...string) *Writable {
	t.Helper()
	var list, part atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("uploads") {
			answer(w, http.StatusOK, "<ListMultipartUploadsResult>"+lists[min(int(list.Add(1)), len(lists))-1]+"</ListMultipartUploadsResult>")
			return
		}
		if r.URL.Path != "/"+testBucket+"/a/b" {
			answer(w, http.StatusNotFound, refusal("NoSuchUpload", "x"))
			return
		}
		body := parts[min(int(part.Add(1)), len(parts))-1]
		answer(w, http.StatusOK, "<ListPartsResult>"+body+"</ListPartsResult>")
	}))
	t.Cleanup(server.Close)
	return open(t, options(server.URL))
}

// More than one page of uploads, and of parts.
func TestUnfinishedPages(t *testing.T) {
	w := uploads(t,
		[]string{more + "<NextPartNumberMarker>1</NextPartNumberMarker><Part><PartNumber>1</PartNumber><Size>5</Size></Part>", all + "<Part><PartNumber>2</PartNumber><Size>7</Size></Part>"},
		more+"<NextKeyMarker>a/b</NextKeyMarker><NextUploadIdMarker>1</NextUploadIdMarker>"+oneUpload,
		"<EncodingType>url</EncodingType>"+all+strings.Replace(oneUpload, "a/b", "a/%62+c", 1),
	)
	found, err := w.Unfinished(t.Context(), "a")
	if err != nil || len(found) != 1 || found[0].Size != 12 {
		t.Errorf("%+v, %v, want one of 12 bytes: the other has gone meanwhile", found, err)
	}
}

func TestUnfinishedIsNotBelieved(t *testing.T) {
	marker := "<NextKeyMarker>a/b</NextKeyMarker><NextUploadIdMarker>1</NextUploadIdMarker>"
	tests := []struct {
		reason string
		parts  string
		lists  []string
	}{
		{"more, but no way to go on", all, []string{more + oneUpload}},
		{"the way on leads to the same place", all, []string{more + marker + oneUpload}},
		{"nothing on whether there is more", all, []string{oneUpload}},
		{"of another directory", all, []string{all + strings.Replace(oneUpload, "a/b", "b/b", 1)}},
		{"without an ID", all, []string{all + "<Upload><Key>a/b</Key></Upload>"}},
		{"nothing on whether there are more parts", "<Part><Size>1</Size></Part>", []string{all + oneUpload}},
		{"parts without an end", more + "<NextPartNumberMarker>1</NextPartNumberMarker><Part><Size>1</Size></Part>", []string{all + oneUpload}},
	}
	for _, test := range tests {
		w := uploads(t, []string{test.parts}, test.lists...)
		if found, err := w.Unfinished(t.Context(), "a"); err == nil || errors.Is(err, iofs.ErrNotExist) {
			t.Errorf("%s: %+v, %v", test.reason, found, err)
		}
	}
}

func TestUploadsNotSupported(t *testing.T) {
	for code, is := range map[string]error{"NotImplemented": errors.ErrUnsupported, "AccessDenied": iofs.ErrPermission} {
		status := map[string]int{"NotImplemented": 501, "AccessDenied": 403}[code]
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, status, refusal(code, "x")) }))
		w := open(t, options(server.URL))
		if _, err := w.Unfinished(t.Context(), ""); !errors.Is(err, is) {
			t.Errorf("%s: %v", code, err)
		}
		if errs := w.Abort(t.Context(), []blob.Unfinished{{Path: "a", ID: "1"}}); len(errs) != 1 || !errors.Is(errs[0], is) {
			t.Errorf("abort, %s: %v", code, errs)
		}
		server.Close()
	}
}

func TestNewestPart(t *testing.T) {
	begun := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	later, earlier := begun.Add(time.Hour), begun.Add(-time.Hour)
	for _, test := range []struct {
		reason string
		known  time.Time
		told   *time.Time
		want   time.Time
	}{
		{"a part came later", begun, &later, later},
		{"a part seems older than the upload", begun, &earlier, begun},
		{"a part without a time may be young", begun, nil, time.Time{}},
		{"what is not known stays so", time.Time{}, &later, time.Time{}},
	} {
		if got := newest(test.known, test.told); !got.Equal(test.want) {
			t.Errorf("%s: %v, want %v", test.reason, got, test.want)
		}
	}
}
