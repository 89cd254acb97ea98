package laws

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	app "github.com/ebb-io/ebb/internal/app/registry"
	"github.com/ebb-io/ebb/internal/image"
	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/reason"
	"github.com/ebb-io/ebb/internal/refs"
	"github.com/ebb-io/ebb/internal/store/blob/mem"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// sample is a random registry with what is known of it.
type sample struct {
	store  *mem.Store
	owners refs.Set
	policy policy.Policy
	far    bool // it is in an object store
}

func (s sample) request() app.Request {
	return app.Request{
		Owners: func(context.Context) (refs.Set, error) { return s.owners, nil },
		Policy: s.policy,
		Now:    now,
	}
}

func (s sample) runRequest() app.RunRequest {
	return app.RunRequest{Request: s.request(), Clock: func() time.Time { return now }}
}

const (
	uidA = "aaaaaaaa-0000-0000-0000-000000000001"
	uidB = "bbbbbbbb-0000-0000-0000-000000000002"
)

var (
	claimed      = []string{"cvi/a", "vi/ns/a", "vi/ns/b", "vd/ns/a", "vi/ns"}
	unclaimed    = []string{"apps/web", "apps/web/nested", "apps/api", "signatures"}
	repositories = append(append([]string{}, claimed...), unclaimed...)
	tags         = []string{"v1", "v2", "latest", uidA, uidB}
	ages         = []time.Duration{0, 30 * time.Minute, 2 * time.Hour, 40 * 24 * time.Hour, 365 * 24 * time.Hour}
)

// builder writes a random world action by action. What was written can be
// named by later actions.
type builder struct {
	*rapid.T
	w      *world.World
	layers []world.Blob
	images []world.Image
	count  int
}

func drawSample(t *rapid.T, damage bool) sample {
	store := mem.New()
	b := &builder{T: t, w: world.New(world.Mem(store), world.At(now))}
	for i := range 5 {
		b.layers = append(b.layers, b.w.Layer(fmt.Sprintf("layer %d", i), b.age()))
	}
	actions := map[string]func(){
		"image": b.image, "image again": b.image, "index": b.index, "referrer": b.referrer, "cosign": b.cosign,
		"fallback": b.fallback, "push": b.push, "retag": b.retag, "orphan": b.orphan, "upload": b.upload, "odd": b.odd,
	}
	if damage {
		actions["damage"] = b.damage
	}
	names := sortedNames(actions)
	for range rapid.IntRange(1, 14).Draw(t, "actions") {
		actions[rapid.SampledFrom(names).Draw(t, "action")]()
	}
	return sample{store: store, owners: b.owners(), policy: b.policy(), far: rapid.Bool().Draw(t, "far")}
}

func (b *builder) repository() string { return rapid.SampledFrom(repositories).Draw(b.T, "repository") }
func (b *builder) age() world.Option  { return world.Age(rapid.SampledFrom(ages).Draw(b.T, "age")) }
func (b *builder) number() int        { b.count++; return b.count }

// names are the options that give an image no tag, one or two.
func (b *builder) names() []world.Option {
	var options []world.Option
	for _, tag := range rapid.SliceOfNDistinct(rapid.SampledFrom(tags), 0, 2, rapid.ID).Draw(b.T, "tags") {
		options = append(options, world.Tag(tag))
	}
	return append(options, b.age())
}

func (b *builder) keepImage(i world.Image) { b.images = append(b.images, i) }

func (b *builder) image() {
	var layers []world.Blob
	for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(b.layers)-1), 0, 3, rapid.ID).Draw(b.T, "layers") {
		layers = append(layers, b.layers[n])
	}
	options := append(b.names(), world.Layers(layers...), world.ConfigText(fmt.Sprintf("config %d", b.number())))
	if rapid.Bool().Draw(b.T, "docker") {
		options = append(options, world.Docker)
	}
	b.keepImage(b.w.Image(b.repository(), options...))
}

func (b *builder) some(label string) (world.Image, bool) {
	if len(b.images) == 0 {
		return world.Image{}, false
	}
	return b.images[rapid.IntRange(0, len(b.images)-1).Draw(b.T, label)], true // a number reads better in a report
}

// index lists images of its repository, some of which may not be there.
func (b *builder) index() {
	repository := b.repository()
	var children []world.Image
	for range rapid.IntRange(0, 2).Draw(b.T, "children") {
		child, ok := b.some("child")
		if !ok {
			break
		}
		if rapid.IntRange(0, 3).Draw(b.T, "present") > 0 {
			b.w.Push(repository, child, b.age())
		}
		children = append(children, child)
	}
	note := world.Annotation("n", fmt.Sprint(b.number()))
	b.keepImage(b.w.Index(repository, children, append(b.names(), note)...))
}

func (b *builder) subject() string {
	i, ok := b.some("subject")
	if !ok || rapid.IntRange(0, 4).Draw(b.T, "lost") == 0 {
		return world.Digest("an image that is nowhere")
	}
	return i.Digest
}

func (b *builder) referrer() {
	options := []world.Option{world.Annotation("n", fmt.Sprint(b.number())), b.age()}
	if rapid.IntRange(0, 3).Draw(b.T, "tagged") == 0 {
		options = append(options, world.Tag("v2"))
	}
	b.keepImage(b.w.Referrer(b.repository(), b.subject(), options...))
}

func (b *builder) cosign() {
	suffix := rapid.SampledFrom([]string{".sig", ".att", ".sbom"}).Draw(b.T, "suffix")
	b.keepImage(b.w.CosignTag(b.repository(), b.subject(), suffix, world.Annotation("n", fmt.Sprint(b.number())), b.age()))
}

func (b *builder) fallback() {
	repository, subject := b.repository(), b.subject()
	r := b.w.Referrer(repository, subject, world.Annotation("n", fmt.Sprint(b.number())), b.age())
	b.keepImage(r)
	b.keepImage(b.w.FallbackTag(repository, subject, []world.Image{r}, b.age()))
}

// push brings an image into another repository, with its children as they are.
func (b *builder) push() {
	if i, ok := b.some("pushed"); ok {
		b.w.Push(b.repository(), i, b.names()...)
	}
}

func (b *builder) retag() {
	if i, ok := b.some("tagged"); ok {
		name := rapid.SampledFrom(append(tags, world.SubjectTag(i.Digest, ".sig"))).Draw(b.T, "tag")
		b.w.Tag(i.Repository, name, i.Digest, b.age())
	}
}

func (b *builder) orphan() {
	if rapid.Bool().Draw(b.T, "linked") {
		b.w.OrphanLayerLink(b.repository(), b.layers[0].Digest, b.age())
		return
	}
	b.w.OrphanBlob(fmt.Sprintf("orphan %d", b.number()), b.age())
}

func (b *builder) upload() {
	age := rapid.SampledFrom(ages).Draw(b.T, "upload age")
	b.w.Upload(b.repository(), fmt.Sprintf("upload-%d", b.number()), now.Add(-age), "some data", world.Age(age))
}

// odd leaves a file beside a link or a blob's data: a signature of an old
// registry, or what a crash left.
func (b *builder) odd() {
	files := slices.DeleteFunc(b.w.Files(), func(path string) bool {
		return !strings.HasSuffix(path, "/link") && !strings.HasSuffix(path, "/data")
	})
	if len(files) == 0 {
		return
	}
	path := rapid.SampledFrom(files).Draw(b.T, "beside")
	if rapid.Bool().Draw(b.T, "signature") {
		b.w.File(path[:strings.LastIndex(path, "/")]+"/signatures/sha256/"+strings.Repeat("5", 64)+"/link", "a signature", b.age())
		return
	}
	b.w.File(path+".01234567-89ab-4cde-8f01-23456789abcd.tmp", "left by a crash", b.age())
}

// damage breaks a file that is there.
func (b *builder) damage() {
	files := b.w.Files()
	path := rapid.SampledFrom(files).Draw(b.T, "damaged")
	switch rapid.IntRange(0, 2).Draw(b.T, "kind") {
	case 0:
		b.w.Remove(path)
	case 1:
		b.w.Rewrite(path, "")
	default:
		b.w.Rewrite(path, "not what it was")
	}
}

// rules are the preset's, as the source builds them.
func rules() []refs.Rule {
	return []refs.Rule{
		{Name: "cvi", Kind: "ClusterVirtualImage", Repository: pattern("cvi/{name}"), Tag: pattern("{uid}"), Shortened: true},
		{Name: "cvi-in-vi", Kind: "ClusterVirtualImage", Repository: pattern("vi/{name}"), Tag: pattern("{uid}"), Shortened: true},
		{Name: "vi", Kind: "VirtualImage", Repository: pattern("vi/{namespace}/{name}"), Tag: pattern("{uid}"), Shortened: true},
		{Name: "vd", Kind: "VirtualDisk", Repository: pattern("vd/{namespace}/{name}"), Tag: pattern("{uid}"), Shortened: true},
	}
}

func pattern(text string) refs.Pattern {
	p, err := refs.ParsePattern(text)
	if err != nil {
		panic(err)
	}
	return p
}

// owners are random objects, and random references to what was written.
func (b *builder) owners() refs.Set {
	set := refs.Set{Rules: rules()}
	for i := range set.Rules {
		set.Rules[i].Objects = rapid.SampledFrom([]int{1, 1, 1, 1, 0}).Draw(b.T, "objects")
	}
	for range rapid.IntRange(0, 4).Draw(b.T, "owners") {
		set.Owners = append(set.Owners, b.owner(set.Rules))
	}
	for range rapid.IntRange(0, 2).Draw(b.T, "references") {
		set.References = append(set.References, b.reference())
	}
	return set
}

func (b *builder) owner(rules []refs.Rule) refs.Owner {
	o := refs.Owner{
		Rule: rapid.IntRange(0, len(rules)-1).Draw(b.T, "rule"),
		Done: rapid.IntRange(0, 3).Draw(b.T, "done") == 0,
		Values: refs.Values{
			Namespace: "ns", Name: rapid.SampledFrom([]string{"a", "b", "ns"}).Draw(b.T, "name"),
			UID: rapid.SampledFrom([]string{uidA, uidB, ""}).Draw(b.T, "uid"),
		},
	}
	rules[o.Rule].Objects = 1
	return o
}

func (b *builder) reference() refs.Reference {
	r := refs.Reference{Code: reason.Referenced, By: "Pod ns/web"}
	if rapid.Bool().Draw(b.T, "pin") {
		r.Code, r.By = reason.Pinned, "--keep"
	}
	i, ok := b.some("referenced")
	switch kind := rapid.IntRange(0, 2).Draw(b.T, "reference"); {
	case kind == 0 && ok:
		d, err := image.ParseDigest(i.Digest)
		if err != nil {
			b.Fatal(err)
		}
		r.Digest = &d
	case kind == 1:
		r.Repository, r.Tag = b.repository(), rapid.SampledFrom(tags).Draw(b.T, "referenced tag")
	default:
		r.Repository, r.Whole = b.repository(), true
	}
	return r
}

func (b *builder) policy() policy.Policy {
	p := policy.Default()
	p.MaxDeleteShare = 100
	p.MinAge = rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(b.T, "min-age")
	p.UploadAge = rapid.SampledFrom([]time.Duration{0, 7 * 24 * time.Hour}).Draw(b.T, "upload-age")
	p.UntaggedAge = rapid.SampledFrom([]time.Duration{0, 30 * 24 * time.Hour}).Draw(b.T, "untagged-age")
	p.DeleteUntagged = rapid.Bool().Draw(b.T, "delete-untagged")
	p.Confirmed = rapid.IntRange(0, 3).Draw(b.T, "confirmed") == 0
	if rapid.IntRange(0, 3).Draw(b.T, "scoped") == 0 {
		glob, err := policy.ParseGlob(rapid.SampledFrom([]string{"apps/**", "vi/**", "cvi/a"}).Draw(b.T, "scope"))
		if err != nil {
			b.Fatal(err)
		}
		p.Scope.Include = append(p.Scope.Include, glob)
	}
	return p
}

func sortedNames(actions map[string]func()) []string {
	var names []string
	for name := range actions {
		names = append(names, name)
	}
	return sortStrings(names)
}

// isClaimed tells what the rules say of a repository, in plain words.
func isClaimed(repository string) bool {
	switch parts := strings.Split(repository, "/"); parts[0] {
	case "cvi":
		return len(parts) == 2
	case "vi":
		return len(parts) == 2 || len(parts) == 3
	case "vd":
		return len(parts) == 3
	}
	return false
}
