package s3

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
)

func pageOf(n int) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix></Prefix><KeyCount>` + fmt.Sprint(n) + `</KeyCount><MaxKeys>1000</MaxKeys><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>`)
	for i := range n {
		fmt.Fprintf(&b, `<Contents><Key>docker/registry/v2/blobs/sha256/%02x/%064x/data</Key><LastModified>2024-02-29T23:59:58.000Z</LastModified><ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag><Size>1234567</Size><StorageClass>STANDARD</StorageClass></Contents>`, i/4, i)
	}
	b.WriteString(`</ListBucketResult>`)
	return b.String()
}

// The two ways to read a page of a listing, each with all that the SDK does
// around it.
func BenchmarkPage(b *testing.B) {
	body := pageOf(1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, body) }))
	defer server.Close()
	d, err := Open(context.Background(), options(server.URL))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		var p page
		for range b.N {
			if err := d.list(context.Background(), listing{limit: pageSize}, &p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sdk", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			out, err := d.api.ListObjectsV2(context.Background(), &sdk.ListObjectsV2Input{Bucket: aws.String(testBucket)})
			if err != nil || len(out.Contents) != 1000 {
				b.Fatal(err)
			}
		}
	})
}
