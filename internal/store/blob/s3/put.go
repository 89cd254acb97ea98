package s3

import (
	"bytes"
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
)

// Put makes or replaces a file.
func (w *Writable) Put(ctx context.Context, path string, data []byte) error {
	if err := w.check(ctx, path); err != nil {
		return err
	}
	err := w.again.try(ctx, func(ctx context.Context) error {
		out, err := w.api.PutObject(ctx, &sdk.PutObjectInput{Bucket: &w.bucket, Key: w.key(path), Body: bytes.NewReader(data)})
		if err == nil && aws.ToString(out.ETag) == "" { // anybody can say 200
			return &garbled{"it does not tell the ETag of what was written"}
		}
		return err
	})
	if err != nil {
		return w.explain(ctx, opPut, path, err)
	}
	return nil
}
