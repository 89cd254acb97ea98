package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ebb-io/ebb/internal/policy"
	"github.com/ebb-io/ebb/internal/testkit/world"
)

// The world's language: a verb, its operands, and options as key=value. A name
// is given with "name = verb ..." and can be used as ${name} wherever a digest
// may stand, ${name.config} and ${name.0} for an image's config and layers.
// ${uid:7} is the seventh object's UID.
//
//	layer TEXT                        index REPO children=a,b sparse=x
//	image REPO layers=a,b tags=t,u    referrer REPO SUBJECT
//	push REPO IMAGE                   cosign REPO SUBJECT SUFFIX
//	tag REPO TAG IMAGE                fallback REPO SUBJECT referrers=a,b
//	schema1 REPO TAG                  upload REPO ID
//	unknown REPO TAG                  orphan TEXT
//	orphanlink REPO BLOB              empty REPO
//	file PATH                         symlink REPO TARGET
//	damage KIND OPERANDS              remove KIND OPERANDS
//
// Options of all: age=30m, linkage=1m, ageless. Of images: docker, bare (no
// media type), sha512, text=... (the config), subject=. Of layers: sha512,
// alias, foreign, size=N.
type author struct {
	*world.World
	dir    string // empty: the world is in memory
	names  names
	layers map[string]world.Blob
	images map[string]world.Image
}

// statement is one line.
type statement struct {
	name, verb string
	operands   []string
	options    map[string]string
}

func parse(line string) statement {
	s := statement{options: map[string]string{}}
	if name, rest, ok := strings.Cut(line, " = "); ok {
		s.name, line = name, rest
	}
	fields := strings.Fields(line)
	s.verb = fields[0]
	for _, f := range fields[1:] {
		key, value, ok := strings.Cut(f, "=")
		switch {
		case ok, f == "ageless", f == "docker", f == "bare", f == "sha512", f == "alias", f == "foreign":
			s.options[key] = value
		default:
			s.operands = append(s.operands, f)
		}
	}
	return s
}

func (s statement) has(key string) bool { _, ok := s.options[key]; return ok }

func (s statement) list(key string) []string {
	if s.options[key] == "" {
		return nil
	}
	return strings.Split(s.options[key], ",")
}

// write writes the whole world.
func (a *author) write(text string) error {
	for number, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" || line == "memory" {
			continue
		}
		s := parse(a.names.expand(line))
		if err := a.line(s); err != nil {
			return fmt.Errorf("world, line %d (%s): %w", number+1, line, err)
		}
	}
	return nil
}

func (a *author) line(s statement) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	switch s.verb {
	case "layer", "orphan":
		a.layer(s)
	case "image", "index", "referrer", "cosign", "fallback", "schema1", "unknown":
		a.image(s)
	case "push":
		a.Push(s.operands[0], a.images[s.operands[1]], a.options(s)...)
	case "tag":
		a.Tag(s.operands[0], s.operands[1], a.names.digest(s.operands[2]), a.options(s)...)
	case "orphanlink":
		a.OrphanLayerLink(s.operands[0], a.names.digest(s.operands[1]), a.options(s)...)
	case "upload":
		a.Upload(s.operands[0], s.operands[1], a.Now().Add(-duration(s.options["age"])), "half a layer")
	case "empty":
		a.EmptyRepository(s.operands[0])
	case "file":
		a.File(world.Root+"/"+s.operands[0], "x", a.options(s)...)
	case "symlink":
		return os.Symlink(s.operands[1], filepath.Join(a.dir, world.RepositoryPath(s.operands[0])))
	case "damage", "remove":
		return a.damage(s)
	default:
		return fmt.Errorf("verb %q is unknown", s.verb)
	}
	return nil
}

func (a *author) layer(s statement) {
	text := strings.Join(s.operands, " ") + s.name
	if size := s.options["size"]; size != "" {
		n, err := strconv.Atoi(size)
		if err != nil {
			panic(err)
		}
		text = world.Random(uint64(len(a.layers)), n)
	}
	blob := world.Blob{}
	if s.has("foreign") {
		blob = a.ForeignLayer(text)
	} else {
		blob = a.Layer(text, a.options(s)...)
	}
	a.layers[s.name] = blob
	a.names.add(s.name, blob.Digest)
	if blob.Stored != blob.Digest {
		a.names.add(s.name+".stored", blob.Stored)
	}
}

func (a *author) image(s statement) {
	o := a.options(s)
	repo := s.operands[0]
	var i world.Image
	switch s.verb {
	case "image":
		i = a.Image(repo, o...)
	case "index":
		i = a.Index(repo, a.many(s.list("children")), o...)
	case "referrer":
		i = a.Referrer(repo, a.names.digest(s.operands[1]), o...)
	case "cosign":
		i = a.CosignTag(repo, a.names.digest(s.operands[1]), s.operands[2], o...)
	case "fallback":
		i = a.FallbackTag(repo, a.names.digest(s.operands[1]), a.many(s.list("referrers")), o...)
	case "schema1":
		i = a.Schema1(repo, s.operands[1], o...)
	case "unknown":
		i = a.UnknownType(repo, s.operands[1], o...)
	}
	a.images[s.name] = i
	a.names.add(s.name, i.Digest)
	a.names.add(s.name+".config", i.Config)
	for n, layer := range i.Layers {
		a.names.add(fmt.Sprintf("%s.%d", s.name, n), layer)
	}
}

func (a *author) many(names []string) []world.Image {
	var images []world.Image
	for _, name := range names {
		image, ok := a.images[name]
		if !ok {
			panic("no image is called " + name)
		}
		images = append(images, image)
	}
	return images
}

func (a *author) options(s statement) []world.Option {
	var o []world.Option
	flags := map[string]world.Option{
		"docker": world.Docker, "bare": world.NoMediaType, "sha512": world.SHA512, "alias": world.SHA512Alias, "ageless": world.UnknownAge,
	}
	for flag, option := range flags {
		if s.has(flag) {
			o = append(o, option)
		}
	}
	if age := s.options["age"]; age != "" {
		o = append(o, world.Age(duration(age)))
	}
	if age := s.options["linkage"]; age != "" {
		o = append(o, world.LinkAge(duration(age)))
	}
	if text := s.options["text"]; text != "" {
		o = append(o, world.ConfigText(fmt.Sprintf("{%q:1}", text)))
	}
	if subject := s.options["subject"]; subject != "" {
		o = append(o, world.Subject(a.names.digest(subject)))
	}
	for _, tag := range s.list("tags") {
		o = append(o, world.Tag(tag))
	}
	for _, layer := range s.list("layers") {
		blob, ok := a.layers[layer]
		if !ok {
			panic("no layer is called " + layer)
		}
		o = append(o, world.Layers(blob))
	}
	for _, name := range s.list("sparse") {
		a.names.add(name, world.Digest(name))
		o = append(o, world.Sparse(world.Digest(name)))
	}
	return o
}

func duration(text string) time.Duration {
	d, err := policy.ParseAge(text)
	if err != nil {
		panic(err)
	}
	return d
}

func (a *author) damage(s statement) error {
	kind, of := s.verb+" "+s.operands[0], s.operands[1:]
	one := map[string]func(string){
		"damage truncate": a.TruncateBlob, "damage corrupt": a.CorruptBlob, "remove blob": a.RemoveBlob,
	}
	repo := map[string]func(string){
		"remove layers": a.RemoveLayersDir, "remove tags": a.RemoveTagsDir,
		"remove revisions": a.RemoveRevisionsDir, "remove repository": a.RemoveRepository,
	}
	link := map[string]func(repo, digest string){
		"damage revision": a.EmptyRevisionLink, "damage layerlink": a.EmptyLayerLink,
		"remove revision": a.RemoveRevisionLink, "remove layerlink": a.RemoveLayerLink,
	}
	tag := map[string]func(repo, tag string){"damage tag": a.EmptyTagLink, "remove tag": a.RemoveTag, "remove taglink": a.RemoveTagLink}
	switch {
	case one[kind] != nil:
		one[kind](a.names.digest(of[0]))
	case repo[kind] != nil:
		repo[kind](of[0])
	case link[kind] != nil:
		link[kind](of[0], a.names.digest(of[1]))
	case tag[kind] != nil:
		tag[kind](of[0], of[1])
	default:
		return fmt.Errorf("no way to %s", kind)
	}
	return nil
}
