package manifestcache

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// dictionary is what manifests consist of beside digests and sizes. Records are
// compressed one by one, and most of a small text would else be said anew in
// each: with it they take a fifth of their size, not a third. Changing it makes
// every pack unreadable: give format another version then.
const dictionary = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:","size":1234,"platform":{"architecture":"arm64","os":"linux","variant":"v8"},"annotations":{"vnd.docker.reference.digest":"sha256:","vnd.docker.reference.type":"attestation-manifest"},"platform":{"architecture":"unknown","os":"unknown"}}]}
{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:","size":1234},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+zstd","digest":"sha256:"},{"mediaType":"application/vnd.dev.cosign.simplesigning.v1+json","size":1234,"digest":"sha256:","annotations":{"dev.cosignproject.cosign/signature":"MEUCIQ"}}],"subject":{},"artifactType":"","annotations":{"org.opencontainers.image.created":"2026-01-01T00:00:00Z"}}
{
   "schemaVersion": 2,
   "mediaType": "application/vnd.docker.distribution.manifest.list.v2+json",
   "manifests": [
      {
         "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
         "size": 1234,
         "digest": "sha256:",
         "platform": {
            "architecture": "amd64",
            "os": "linux"
         }
      },
{
  "schemaVersion": 2,
  "mediaType": "application/vnd.oci.image.manifest.v1+json",
  "config": {
    "mediaType": "application/vnd.oci.image.config.v1+json",
    "digest": "sha256:",
    "size": 1234
  },
  "layers": [
    {
      "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
      "digest": "sha256:",
      "size": 12345678
    },
    {
      "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
{
   "schemaVersion": 2,
   "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
   "config": {
      "mediaType": "application/vnd.docker.container.image.v1+json",
      "size": 1234,
      "digest": "sha256:"
   },
   "layers": [
      {
         "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
         "size": 12345678,
         "digest": "sha256:"
      },
{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":{"mediaType":"application/vnd.docker.container.image.v1+json","size":1234,"digest":"sha256:"},"layers":[{"mediaType":"application/vnd.docker.image.rootfs.diff.tar.gzip","size":12345678,"digest":"sha256:"}]}
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:","size":1234},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"sha256:","size":12345678},{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"sha256:`

// codec packs and unpacks manifests.
type codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
	buffers *sync.Pool // of packed manifests
}

func newCodec() (codec, error) {
	const id, workers, window = 1, 4, 64 << 10 // each worker has tables of some hundred kilobytes
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderDictRaw(id, []byte(dictionary)), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(workers))
	if err != nil {
		return codec{}, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(id, []byte(dictionary)), zstd.WithDecoderMaxMemory(largest),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderConcurrency(workers))
	return codec{encoder: encoder, decoder: decoder, buffers: &sync.Pool{New: func() any { return &[]byte{} }}}, err
}

// encode packs a manifest into a buffer, which the caller gives back.
func (c codec) encode(content []byte) *[]byte {
	buffer := c.buffer()
	*buffer = c.encoder.EncodeAll(content, (*buffer)[:0])
	return buffer
}

func (c codec) decode(packed, buffer []byte) ([]byte, error) {
	return c.decoder.DecodeAll(packed, buffer)
}

func (c codec) buffer() *[]byte { return c.buffers.Get().(*[]byte) }

func (c codec) done(buffer *[]byte) { c.buffers.Put(buffer) }

func (c codec) close() { c.decoder.Close() }
