package trendreceiver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/configmiddleware"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/extension/extensionmiddleware"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// gate stands before the standard OTLP receiver as a middleware, and refuses requests that would take far more memory decoded
// than they have bytes: what it refuses is never decoded.
type gate struct {
	component.StartFunc
	component.ShutdownFunc
	telemetry *telemetry
}

var (
	gateID = component.MustNewIDWithName("trend", "gate")

	_ extensionmiddleware.GRPCServer = (*gate)(nil)
	_ extensionmiddleware.HTTPServer = (*gate)(nil)
)

// protocols are p with the gate before each.
func (*gate) protocols(p otlpreceiver.Protocols) otlpreceiver.Protocols {
	first := configmiddleware.Config{ID: gateID}
	if p.GRPC.HasValue() {
		cfg := *p.GRPC.Get()
		cfg.Middlewares = append([]configmiddleware.Config{first}, cfg.Middlewares...)
		p.GRPC = configoptional.Some(cfg)
	}
	if p.HTTP.HasValue() {
		cfg := *p.HTTP.Get()
		cfg.ServerConfig.Middlewares = append([]configmiddleware.Config{first}, cfg.ServerConfig.Middlewares...)
		p.HTTP = configoptional.Some(cfg)
	}
	return p
}

// gatedHost is a host that knows the gate.
type gatedHost struct {
	component.Host
	gate *gate
}

func (h gatedHost) GetExtensions() map[component.ID]component.Component {
	all := maps.Clone(h.Host.GetExtensions())
	if all == nil {
		all = map[component.ID]component.Component{}
	}
	all[gateID] = h.gate
	return all
}

func (h gatedHost) Report(e *componentstatus.Event) { componentstatus.ReportStatus(h.Host, e) }

// GetGRPCServerOptions makes the gate look at every message before it is decoded.
func (g *gate) GetGRPCServerOptions(context.Context) ([]grpc.ServerOption, error) {
	return []grpc.ServerOption{grpc.ForceServerCodecV2(gatedCodec{encoding.GetCodecV2(proto.Name), g})}, nil
}

type gatedCodec struct {
	encoding.CodecV2
	gate *gate
}

func (c gatedCodec) Unmarshal(data mem.BufferSlice, v any) error {
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	if err := c.gate.check(context.Background(), countFields, whole.ReadOnlyData()); err != nil {
		return err
	}
	return c.CodecV2.Unmarshal(mem.BufferSlice{whole}, v)
}

// GetHTTPHandler makes the gate look at every body before it is decoded.
func (g *gate) GetHTTPHandler(context.Context) (extensionmiddleware.WrapHTTPHandlerFunc, error) {
	return func(_ context.Context, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var count func([]byte) (int, error)
			switch kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind {
			case "application/x-protobuf":
				count = countFields
			case "application/json":
				count = countElements
			default: // is not decoded
				next.ServeHTTP(w, r)
				return
			}
			body, err := io.ReadAll(r.Body)
			switch {
			case err != nil:
				r.Body = io.NopCloser(failing{err})
			case g.check(r.Context(), count, body) != nil:
				http.Error(w, errRequest.Error(), http.StatusBadRequest)
				return
			default:
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
			next.ServeHTTP(w, r)
		}), nil
	}, nil
}

// failing is a body that cannot be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// check counts a request, and tells what is refused.
func (g *gate) check(ctx context.Context, count func([]byte) (int, error), request []byte) error {
	n, err := count(request)
	if err == nil && n > maxFields {
		err = fmt.Errorf("%w: more than %d fields", errRequest, maxFields)
	}
	if err != nil {
		var r refusals
		r.add(0, err)
		g.telemetry.refused(ctx, &r)
	}
	return err
}
