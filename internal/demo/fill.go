package demo

import (
	"context"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ebb-io/ebb/internal/demo/server/client"
)

const mebibyte = 1 << 20

// filler pushes the world step by step.
type filler struct {
	client client.Client
	world  World
	newest string // digest of the application's newest index
	older  string // digest of the one before
	debian string // digest of a lost machine image
}

// machines pushes one image for each machine of the table.
func (f *filler) machines(ctx context.Context) error {
	for _, m := range machines() {
		built, err := diskImage(m.disk, m.mebibytes*mebibyte)
		if err != nil {
			return fmt.Errorf("image %s: %w", m.repository(), err)
		}
		digest, err := f.client.PushImage(ctx, m.repository(), m.uid(), built)
		if err != nil {
			return err
		}
		f.note(m.lost, Image{Repository: m.repository(), Tag: m.uid(), Digest: digest, Reason: m.reason})
		if m.name == "debian-12" {
			f.debian = digest
		}
	}
	return nil
}

// application pushes two versions for two platforms. All share one layer, and
// the older speaks Docker's media types.
func (f *filler) application(ctx context.Context) error {
	older, err := platforms("1.4", docker())
	if err != nil {
		return err
	}
	newer, err := platforms("1.5", oci())
	if err != nil {
		return err
	}
	if f.older, err = f.version(ctx, "1.4", "Tagged", older); err != nil {
		return err
	}
	if f.newest, err = f.version(ctx, "1.5", "Referenced", newer); err != nil {
		return err
	}
	children, err := newer.IndexManifest()
	if err != nil {
		return err
	}
	f.world.Child = Image{
		Repository: application, Digest: children.Manifests[0].Digest.String(), Reason: "NeededByKept",
	}
	return nil
}

func (f *filler) version(ctx context.Context, tag, reason string, index v1.ImageIndex) (string, error) {
	digest, err := f.client.PushIndex(ctx, application, tag, index)
	if err != nil {
		return "", err
	}
	f.note(false, Image{Repository: application, Tag: tag, Digest: digest, Reason: reason})
	return digest, nil
}

// signatures signs the application in both ways, and an image that is lost.
func (f *filler) signatures(ctx context.Context) error {
	referrer, err := f.client.PushReferrer(ctx, application, f.newest, "signature of 1.5")
	if err != nil {
		return err
	}
	f.note(false, Image{Repository: application, Digest: referrer, Reason: "SubjectKept"})
	if err := f.fallback(ctx); err != nil {
		return err
	}
	if err := f.cosign(ctx, application, f.older, false, "SubjectKept"); err != nil {
		return err
	}
	return f.cosign(ctx, "cvi/debian-12", f.debian, true, "SubjectGone")
}

func (f *filler) cosign(ctx context.Context, repo, subject string, lost bool, reason string) error {
	tag, digest, err := f.client.PushCosignTag(ctx, repo, subject, ".sig", "signature of "+subject)
	if err != nil {
		return err
	}
	f.note(lost, Image{Repository: repo, Tag: tag, Digest: digest, Reason: reason})
	return nil
}

// fallback notes the tag that the client wrote for the referrer, as it does for
// a registry that does not list referrers.
func (f *filler) fallback(ctx context.Context) error {
	tag := strings.Replace(f.newest, ":", "-", 1)
	digest, err := f.client.Resolve(ctx, application, tag)
	if err != nil {
		return err
	}
	f.note(false, Image{Repository: application, Tag: tag, Digest: digest, Reason: "SubjectKept"})
	return nil
}

func (f *filler) upload(ctx context.Context) error {
	f.world.UploadRepository = "vi/dev/build-tools"
	id, err := f.client.StartUpload(ctx, f.world.UploadRepository, random("upload", 2*mebibyte))
	f.world.Upload = id
	return err
}

func (f *filler) owners() error {
	var err error
	if f.world.Before, err = ownersYAML(false); err != nil {
		return err
	}
	f.world.After, err = ownersYAML(true)
	return err
}

func (f *filler) note(lost bool, image Image) {
	if lost {
		f.world.Lost = append(f.world.Lost, image)
		return
	}
	f.world.Kept = append(f.world.Kept, image)
}
