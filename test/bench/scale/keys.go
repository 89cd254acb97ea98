package scale

import (
	"iter"
	"sort"

	"github.com/ebb-io/ebb/internal/testkit/objects"
	"github.com/ebb-io/ebb/test/bench/fixture"
)

// entry is a key and the number of the blob that it holds or names.
type entry struct {
	key    string
	number uint32
	link   bool
}

// run is a row of keys in their order.
type run struct {
	length int
	at     func(i int) entry
}

// From are the objects whose key is from or comes after it, in the order of keys.
func (r *Registry) From(from string) iter.Seq[objects.Object] {
	return func(yield func(objects.Object) bool) {
		for e := range r.from(from) {
			if !yield(r.object(e)) {
				return
			}
		}
	}
}

func (r *Registry) object(e entry) objects.Object {
	size := r.size(e.number)
	if e.link {
		size = int64(len(r.digest(e.number)))
	}
	return objects.Object{Key: e.key, Size: size, Modified: r.stamp, ETag: r.digest(e.number).Encoded()[:32]}
}

// from goes through the runs that are not over before from.
func (r *Registry) from(from string) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		first := sort.Search(r.runs(), func(i int) bool { return r.run(i).last() >= from })
		for i := first; i < r.runs(); i++ {
			run := r.run(i)
			begin := sort.Search(run.length, func(i int) bool { return run.at(i).key >= from })
			for j := begin; j < run.length; j++ {
				if !yield(run.at(j)) {
					return
				}
			}
		}
	}
}

func (u run) last() string { return u.at(u.length - 1).key }

// runsOf is how many runs a repository has: layer links, revisions, tags.
const runsOf = 3

// runs is the number of runs: the blobs come first, then the repositories.
func (r *Registry) runs() int { return 1 + runsOf*len(r.repos) }

func (r *Registry) run(i int) run {
	if i == 0 {
		return run{len(r.blobs), func(i int) entry {
			return entry{key: fixture.BlobPath(r.digest(r.blobs[i])), number: r.blobs[i]}
		}}
	}
	repo := r.repos[(i-1)/runsOf]
	name := fixture.RepositoryName(repo)
	switch (i - 1) % runsOf {
	case 0:
		return run{len(r.layers[repo]), func(i int) entry {
			number := r.layers[repo][i]
			return entry{fixture.LayerLink(name, r.digest(number)), number, true}
		}}
	case 1:
		return run{len(r.images[repo]), func(i int) entry {
			number := r.images[repo][i]
			return entry{fixture.RevisionLink(name, r.digest(number)), number, true}
		}}
	}
	return run{2 * len(r.tagged), func(i int) entry {
		n := r.tagged[i/2]
		number := r.manifest(repo, n)
		if i%2 == 0 {
			return entry{fixture.TagLink(name, fixture.TagName(n)), number, true}
		}
		return entry{fixture.TagIndexLink(name, fixture.TagName(n), r.digest(number)), number, true}
	}}
}
