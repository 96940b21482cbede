// Package generator makes OTLP logs and traces of a web service with many tenants, drawn from Zipf's law. What it makes
// depends on the seed alone, and each record is handed to the caller as well, to be counted exactly.
package generator

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"strconv"
)

// Config of a Generator.
type Config struct {
	Seed     uint64
	Keys     int     // number of tenants, and of client addresses; at least 1
	Exponent float64 // of Zipf's law over tenants and clients; 0: uniform
	Regions  int     // number of cloud regions; at least 1

	NameBytes int // least length of a tenant's name: it is padded with text that does not compress well; 0: no padding
}

// Record is what one log record or span says.
type Record struct {
	Region string // resource attribute cloud.region
	Tenant string // tenant.id
	Rank   int    // of the tenant, from 0
	Client string // client.address
	Route  string // http.route
	Bytes  int64  // http.response.body.size
	Failed bool   // severity ERROR, or span status Error
}

// Generator is not safe for concurrent use.
type Generator struct {
	cfg     Config
	rng     *rand.Rand
	keys    *sampler
	routes  *sampler
	regions *sampler
	padded  map[int]string // names of tenants by rank
	surging int            // rank of the tenant that has share of all records beside its own
	share   float64
}

// New makes a generator; two of the same configuration make the same records.
func New(cfg Config) (*Generator, error) {
	if cfg.Regions < 1 {
		return nil, errors.New("generator: regions must be at least 1")
	}
	keys, err := newZipf(cfg.Keys, cfg.Exponent)
	if err != nil {
		return nil, err
	}
	routes, err := newZipf(len(routeNames), 1)
	if err != nil {
		return nil, err
	}
	regions, err := newZipf(cfg.Regions, 0.5)
	if err != nil {
		return nil, err
	}
	return &Generator{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0)), keys: keys, routes: routes, regions: regions, padded: make(map[int]string),
	}, nil
}

// Surge gives the tenant of a rank a share of all records from now on, from 0 to 1; the others divide the rest as before.
func (g *Generator) Surge(rank int, share float64) { g.surging, g.share = rank, share }

// next draws a record of one region.
func (g *Generator) next(region int) Record {
	route := g.routes.draw(g.rng)
	rank := g.keys.draw(g.rng)
	if g.share > 0 && g.rng.Float64() < g.share {
		rank = g.surging
	}
	return Record{
		Region: RegionName(region),
		Tenant: g.tenant(rank),
		Rank:   rank,
		Client: clientAddress(g.keys.draw(g.rng)),
		Route:  routeNames[route],
		Bytes:  200 + int64(g.rng.ExpFloat64()*4000),
		Failed: g.rng.IntN(50) < route%5, // 0 to 8 % of a route's requests
	}
}

// perRegion deals n records to the regions.
func (g *Generator) perRegion(n int) []int {
	counts := make([]int, g.cfg.Regions)
	for range n {
		counts[g.regions.draw(g.rng)]++
	}
	return counts
}

// tenant of a rank, by its name as long as it is to be.
func (g *Generator) tenant(rank int) string {
	if g.cfg.NameBytes == 0 {
		return TenantName(rank)
	}
	name, ok := g.padded[rank]
	if !ok {
		b := append([]byte(TenantName(rank)), '-')
		for rng := rand.New(rand.NewPCG(uint64(rank), 0)); len(b) < g.cfg.NameBytes; {
			b = strconv.AppendUint(b, rng.Uint64(), 36)
		}
		name = string(b)
		g.padded[rank] = name
	}
	return name
}

// TenantName of the tenant with the rank-th largest share, from 0.
func TenantName(rank int) string { return "tenant-" + strconv.Itoa(rank+1) }

// clientAddress is a private address for each of the first 2^24 ranks; neighbours in rank are far apart.
func clientAddress(rank int) string {
	x := uint32(rank) * 0x9e3779b1
	return netip.AddrFrom4([4]byte{10, byte(x >> 16), byte(x >> 8), byte(x)}).String()
}

// RegionName of the i-th region, from 0.
func RegionName(i int) string {
	if i < len(regionNames) {
		return regionNames[i]
	}
	return "region-" + strconv.Itoa(i+1)
}

var regionNames = []string{
	"us-east-1", "eu-west-1", "us-west-2", "ap-southeast-1", "eu-central-1", "ap-northeast-1", "sa-east-1", "ca-central-1",
}

var routeNames = []string{
	"GET /v1/orders", "GET /v1/orders/{id}", "POST /v1/orders", "GET /v1/products", "GET /v1/products/{id}",
	"POST /v1/login", "GET /v1/users/{id}", "PUT /v1/users/{id}", "GET /v1/cart", "POST /v1/cart/items",
	"DELETE /v1/cart/items/{id}", "POST /v1/checkout", "GET /v1/search", "GET /v1/recommendations", "POST /v1/events",
	"GET /v1/invoices", "GET /v1/invoices/{id}", "POST /v1/payments", "GET /healthz", "GET /metrics",
}
