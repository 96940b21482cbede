package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// bucket is an archive in a bucket.
type bucket struct {
	b    *blob.Bucket
	name string // scheme and host
}

func openBucket(ctx context.Context, u *url.URL) (*bucket, error) {
	name := u.Scheme + "://" + u.Host
	if u.Host == "" || u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("%s: a bucket is %s://name?parameters; a folder in it is the parameter prefix=folder/", name, u.Scheme)
	}
	b, err := blob.DefaultURLMux().OpenBucketURL(ctx, u)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", name, concealed(err, u))
	}
	return &bucket{b, name}, nil
}

// shortest is the length of the shortest text that is taken for a secret: shorter ones are in the words of any message.
const shortest = 4

// concealed is what err says without the values of the URL's parameters, among which there may be secrets.
func concealed(err error, u *url.URL) string {
	text := err.Error()
	if u.RawQuery != "" {
		text = strings.ReplaceAll(text, u.RawQuery, "…")
	}
	for _, values := range u.Query() {
		for _, v := range values {
			if len(v) >= shortest {
				text = strings.ReplaceAll(text, v, "…")
			}
		}
	}
	return text
}

// failure is an error of a bucket, which says its cause and not the whole way to it.
type failure struct {
	text string
	err  error
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.err }

// failed says of what err is.
func (b *bucket) failed(what, path string, err error) error {
	cause := causeOf(err)
	if gcerrors.Code(err) == gcerrors.NotFound {
		err = errors.Join(fs.ErrNotExist, err)
	}
	return &failure{fmt.Sprintf("archive: %s %s of %s: %s", what, path, b.name, cause), err}
}

// causeOf is what a cloud answered, or why it could not be asked. Each of the layers above repeats the path.
func causeOf(err error) string {
	var unasked *url.Error
	var answered interface {
		error
		ErrorCode() string
		ErrorMessage() string
	}
	switch {
	case errors.As(err, &answered):
		return answered.ErrorCode() + ": " + answered.ErrorMessage()
	case errors.As(err, &unasked):
		return unasked.Err.Error()
	default:
		return err.Error()
	}
}

// put writes an object, which a bucket shows when it is whole. One that fails is given up by its context.
func (b *bucket) put(ctx context.Context, path string, write func(io.Writer) error) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := b.b.NewWriter(ctx, path, &blob.WriterOptions{ContentType: "application/vnd.apache.parquet", DisableContentTypeDetection: true})
	if err != nil {
		return 0, b.failed("writing", path, err)
	}
	out := &countingWriter{ctx: ctx, out: w}
	if err := write(out); err != nil {
		cancel()
		_ = w.Close()
		return 0, err
	}
	if err := w.Close(); err != nil {
		return 0, b.failed("writing", path, err)
	}
	return out.n, nil
}

// openBlob is an Object in a bucket.
type openBlob struct {
	in   *bucket
	ctx  context.Context
	path string
	size int64
}

func (b *bucket) open(ctx context.Context, path string) (Object, error) {
	a, err := b.b.Attributes(ctx, path)
	if err := errors.Join(ctx.Err(), err); err != nil {
		return nil, b.failed("opening", path, err)
	}
	return &openBlob{b, ctx, path, a.Size}, nil
}

func (o *openBlob) Size() int64 { return o.size }

func (o *openBlob) Close() error { return nil }

// readTries is how often a read that broke off is taken up where it was.
const readTries = 4

// ReadAt asks for a range.
func (o *openBlob) ReadAt(p []byte, offset int64) (n int, err error) {
	want := int(max(0, min(int64(len(p)), o.size-offset)))
	for try := 0; n < want && try < readTries; try++ {
		var part int
		part, err = o.read(p[n:want], offset+int64(n))
		n += part
		if o.ctx.Err() != nil || part == 0 && gcerrors.Code(err) == gcerrors.NotFound {
			break
		}
	}
	switch {
	case n < want:
		return n, o.in.failed("reading", o.path, err)
	case n < len(p):
		return n, io.EOF
	default:
		return n, nil
	}
}

func (o *openBlob) read(p []byte, offset int64) (n int, err error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	r, err := o.in.b.NewRangeReader(o.ctx, o.path, offset, int64(len(p)), nil)
	if err != nil {
		return 0, err
	}
	n, err = io.ReadFull(r, p)
	_ = r.Close()
	return n, err
}

func (b *bucket) remove(ctx context.Context, path string) error {
	err := ctx.Err()
	if err == nil {
		err = b.b.Delete(ctx, path)
	}
	if err == nil || gcerrors.Code(err) == gcerrors.NotFound {
		return nil
	}
	return b.failed("deleting", path, err)
}

func (b *bucket) list(ctx context.Context, prefix string) (entries []Entry, err error) {
	objects := b.b.List(&blob.ListOptions{Prefix: prefix})
	for {
		o, err := objects.Next(ctx)
		if ended := ctx.Err(); ended != nil {
			err = ended
		}
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, b.failed("listing", prefix, err)
		}
		if !o.IsDir && !strings.HasSuffix(o.Key, "/") {
			entries = append(entries, Entry{o.Key, o.Size})
		}
	}
}

func (b *bucket) tidy(context.Context, string) (int, error) { return 0, nil }

func (b *bucket) abandoned(context.Context, string, time.Time) (int, error) { return 0, nil }

func (b *bucket) describe() string { return b.name }

func (b *bucket) exists(ctx context.Context) (bool, error) {
	there, err := b.b.IsAccessible(ctx)
	if err != nil {
		return false, fmt.Errorf("archive: %s: %s", b.name, causeOf(err))
	}
	return there, nil
}

func (b *bucket) close() error { return b.b.Close() }
