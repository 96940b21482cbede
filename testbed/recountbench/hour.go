// Package recountbench measures recounts of one big hour with the real topk command, and holds them against what was written and, in
// the long form, against DuckDB.
package recountbench

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/archive"
)

// Hour is an hour of log records: of ten, one has the next of all tenants in turn, so that each of them comes, and nine have one by
// Zipf's law.
type Hour struct {
	Records, Distinct, Files int
}

const (
	perRequest = 1000
	regions    = 20
	exponent   = 1.05

	tenantPath = `log.attributes["tenant.id"]`
	regionPath = `resource.attributes["cloud.region"]`
)

var start = time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)

// Written is what the hour holds.
type Written struct {
	Tenants []uint32          // records by number of the tenant
	Regions [regions]uint64   // records by number of the region
	Heavy   [regions][]uint32 // of the first tenants in each region
	Bytes   int64             // of all files
}

// heavyTenants are those that are counted in each region.
const heavyTenants = 1000

// Key of a tenant by its number, which is its rank in Zipf's law.
func Key(tenant int) string { return fmt.Sprintf("tenant-%07d", scrambled(tenant)) }

// scrambled keeps the order of keys from being that of their weights.
func scrambled(tenant int) int { return tenant * 7_368_787 % 10_000_019 }

// Region by its number.
func Region(i int) string { return fmt.Sprintf("region-%02d", i) }

// Write the hour to store.
func (h *Hour) Write(ctx context.Context, store *archive.Store) (*Written, error) {
	w := &Written{Tenants: make([]uint32, h.Distinct)}
	for i := range w.Heavy {
		w.Heavy[i] = make([]uint32, min(heavyTenants, h.Distinct))
	}
	columns, err := archive.ParseColumns([]string{tenantPath, regionPath})
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(20260102, 15))
	zipf := rand.NewZipf(random, exponent, 1, uint64(h.Distinct-1))
	for f := range h.Files {
		from, to := h.Records*f/h.Files, h.Records*(f+1)/h.Files
		segment := fmt.Sprintf("%016x", f+1)
		name := archive.File{Signal: "logs", Hour: archive.HourOf(start.UnixNano()), Name: archive.FileName("bench", segment)}
		size, err := store.Put(ctx, name.Path(), func(file io.Writer) error {
			out, err := archive.NewWriter(file, archive.Meta{Signal: name.Signal, Hour: name.Hour, Shard: "bench", Segment: segment, Columns: columns})
			if err != nil {
				return err
			}
			for at := from; at < to; at += perRequest {
				if err := h.request(out, w, random, zipf, at, min(at+perRequest, to)); err != nil {
					return err
				}
			}
			return out.Close()
		})
		if err != nil {
			return nil, err
		}
		w.Bytes += size
	}
	return w, nil
}

// request writes the records from, to, which share a resource.
func (h *Hour) request(out *archive.Writer, w *Written, random *rand.Rand, zipf *rand.Zipf, from, to int) error {
	region := random.IntN(regions)
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("cloud.region", Region(region))
	rl.Resource().Attributes().PutStr("service.name", "checkout")
	sl := rl.ScopeLogs().AppendEmpty()
	sl.Scope().SetName("bench")
	record := sl.LogRecords().AppendEmpty()
	attributes := record.Attributes()
	for i := from; i < to; i++ {
		tenant := i / 10 % h.Distinct
		if i%10 > 0 {
			tenant = int(zipf.Uint64())
		}
		w.Tenants[tenant]++
		w.Regions[region]++
		if tenant < len(w.Heavy[region]) {
			w.Heavy[region][tenant]++
		}
		apart := int64(time.Hour) / int64(h.Records)
		record.SetTimestamp(pcommon.Timestamp(start.UnixNano() + apart*int64(i) + random.Int64N(apart)))
		record.SetSeverityNumber(plog.SeverityNumberInfo)
		status := []int64{200, 200, 200, 404, 500}[random.IntN(5)]
		record.Body().SetStr("GET /api/v1/items/" + strconv.Itoa(random.IntN(1e6)) + " " + strconv.FormatInt(status, 10))
		attributes.PutStr("tenant.id", Key(tenant))
		attributes.PutStr("http.route", "/api/v1/items/"+strconv.Itoa(random.IntN(40)))
		attributes.PutStr("client.address", fmt.Sprintf("10.%d.%d.%d", random.IntN(4), random.IntN(256), random.IntN(256)))
		attributes.PutInt("http.status_code", status)
		if err := out.Log(rl, sl, record, start.UnixNano()); err != nil {
			return err
		}
	}
	return nil
}
