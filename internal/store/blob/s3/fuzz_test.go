package s3

import (
	"encoding/xml"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ebb-io/ebb/internal/store/blob"
)

// Whatever is sent, the parser takes it as the XML library does, or refuses it.
func FuzzParse(f *testing.F) {
	f.Add(says(all, "", "a/b", "a&amp;b", "&#x41;&#10;c"))
	f.Add(says(more, "1<!-- x -->", "a+b"))
	f.Add(`<ListBucketResult xmlns="x>y" a='b'><Contents><Owner><ID>1</ID></Owner><Key>k</Key><Size>1</Size></Contents><IsTruncated>false</IsTruncated></ListBucketResult>`)
	f.Add(`<s:ListBucketResult><EncodingType>url</EncodingType><CommonPrefixes><Prefix>a%2Fb+c/</Prefix></CommonPrefixes><Empty/></s:ListBucketResult>`)
	f.Add(`<ListBucketResult><Contents><Key><![CDATA[a]]></Key><Size>1</Size></Contents></ListBucketResult>`)
	f.Fuzz(func(t *testing.T, body string) {
		var got rawPage
		if got.parse([]byte(body)) != nil {
			return
		}
		var want struct {
			XMLName      xml.Name `xml:"ListBucketResult"`
			EncodingType string
			Contents     []struct {
				Key  string
				Size int64
			}
			CommonPrefixes []struct{ Prefix string }
		}
		if xml.Unmarshal([]byte(body), &want) != nil {
			return // the library knows more that is wrong
		}
		var keys, expected []string
		for _, i := range got.items {
			keys = append(keys, i.key)
		}
		for _, c := range want.Contents {
			key := c.Key
			if want.EncodingType == "url" {
				key, _ = url.QueryUnescape(key)
			}
			expected = append(expected, key)
		}
		if !slices.Equal(keys, expected) {
			t.Errorf("keys %q, the library says %q", keys, expected)
		}
	})
}

// A listing from below a name begins before it, and one up to what is behind it
// ends after all that is in it.
func FuzzBounds(f *testing.F) {
	f.Add("a/", "sha256", "sha256/x")
	f.Add("", "b!x", "b/one")
	f.Add("a/", "ü", "ü/é")
	f.Add("", "\xff", "\xff/\xff")
	f.Fuzz(func(t *testing.T, dir, bound, path string) {
		prefix := ""
		if dir = strings.TrimSuffix(dir, "/"); dir != "" {
			prefix = dir + "/"
		}
		if blob.CheckDir(dir) != nil || blob.CheckPath(bound) != nil || strings.Contains(bound, "/") || blob.CheckPath(path) != nil {
			return
		}
		name, _, _ := strings.Cut(path, "/")
		if name >= bound && prefix+path <= below(prefix, bound) {
			t.Errorf("a listing behind %q misses %q, which is not below %q", below(prefix, bound), prefix+path, bound)
		}
		if name <= bound && prefix+path >= behind(prefix, bound) {
			t.Errorf("a listing up to %q misses %q, which is not behind %q", behind(prefix, bound), prefix+path, bound)
		}
		if at := commonDir(prefix+bound, prefix+path); at != "" && (!strings.HasPrefix(prefix+bound, at+"/") || !strings.HasPrefix(prefix+path, at+"/")) {
			t.Errorf("%q is not around %q and %q", at, prefix+bound, prefix+path)
		}
	})
}
