package registry

import (
	"github.com/spf13/pflag"

	"github.com/ebb-io/ebb/internal/cli"
	"github.com/ebb-io/ebb/internal/policy"
)

// planFlags are the flags that shape a plan.
type planFlags struct {
	storageFlags
	cache      string
	owners     cli.List
	repository cli.List
	exclude    cli.List
	keep       cli.List
	keepFrom   cli.List
	policy     policy.Policy // but for its scope
}

// storageFlags say where a storage is, and how it may be treated.
type storageFlags struct {
	location string
	pace     float64 // requests a second; zero: no limit
}

func (f *storageFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.location, "storage", "", "the registry's storage: a folder, an s3:// `URL`, or config:PATH for the registry's own configuration")
	flags.Var(rate{&f.pace}, "max-requests-per-second", "send an object store no more requests than that; 0 is no limit")
}

// storage reads what the flags say.
func (f *storageFlags) storage(a *cli.App) (storage, error) {
	return parseStorage(f.location, f.pace, variables(a))
}

func variables(a *cli.App) []string {
	if a.Environ == nil {
		return nil
	}
	return a.Environ()
}

func (f *planFlags) add(flags *pflag.FlagSet) {
	f.policy = policy.Default()
	f.owners.Kind = "PATH"
	f.repository = cli.List{Parse: cli.CheckGlob, Commas: true, Kind: "PATTERN"}
	f.exclude = f.repository
	f.keep = cli.List{Parse: checkPin, Commas: true, Kind: "REF"}
	f.keepFrom.Kind = "FILE"

	f.storageFlags.add(flags)
	flags.StringVar(&f.cache, "cache", "", "keep manifests in `DIR`, or off; by default in the user's cache folder, for an object store alone")
	flags.Var(&f.owners, "owners", "file or folder with what kubectl get -o yaml wrote")
	flags.Var(&f.keep, "keep", "keep this image, or with no tag and digest this whole repository")
	flags.Var(&f.keepFrom, "keep-from", "the same from a file, one a line")
	flags.Var(&f.repository, "repository", "clean only these repositories: * stands for anything within a part of a name, ** for anything")
	flags.Var(&f.exclude, "exclude", "do not clean these repositories")
	flags.Var(cli.Age{Value: &f.policy.MinAge}, "min-age", "keep what was touched more recently")
	flags.Var(cli.Age{Value: &f.policy.UploadAge}, "upload-age", "keep unfinished uploads that were touched more recently")
	flags.BoolVar(&f.policy.DeleteUntagged, "delete-untagged", false, "also delete untagged images that no owner rule claims")
	flags.Var(cli.Age{Value: &f.policy.UntaggedAge}, "untagged-age", "how old those must be")
	flags.Var(cli.Share{Value: &f.policy.MaxDeleteShare}, "max-delete-share", "refuse to delete more of all images, or of all bytes")
}

// scope reads the patterns, which were checked as they were given.
func scope(include, exclude []string) (policy.Scope, error) {
	var s policy.Scope
	for _, part := range []struct {
		texts []string
		to    *[]policy.Glob
	}{{include, &s.Include}, {exclude, &s.Exclude}} {
		for _, text := range part.texts {
			g, err := policy.ParseGlob(text)
			if err != nil {
				return s, err
			}
			*part.to = append(*part.to, g)
		}
	}
	return s, nil
}
