package topkexporter

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// exposedRanks is how many ranks of a global list /metrics shows. A list takes at most 3 series a rank and 11 more, so
// 41 for each rule and window, however often keys change places.
const exposedRanks = 10

var (
	listLabels = []string{"rule", "window", "scope", "group"}

	estimateDesc   = listDesc("topk_estimate", "Estimated weight of the key at this rank; never below the true one.", "rank")
	lowerDesc      = listDesc("topk_lower", "Weight that the key at this rank has at least.", "rank")
	keyDesc        = listDesc("topk_key_info", "The key at this rank; always 1.", "rank", "key")
	totalDesc      = listDesc("topk_total_weight", "Weight counted in the window.")
	totalUpperDesc = listDesc("topk_total_weight_upper", "Weight counted in the window, and what overflow may hide of it.")
	otherDesc      = listDesc("topk_other", "topk_total_weight less the sum of topk_lower.")
	distinctDesc   = listDesc("topk_distinct", "Estimated number of distinct keys.")
	thetaDesc      = listDesc("topk_theta", "No key without a rank weighs more.")
	certifiedDesc  = listDesc("topk_certified", "1 if the keys with a rank are certainly the heaviest, else 0.")
	partialDesc    = listDesc("topk_partial", "1 if the list lacks records, else 0.")
	asOfDesc       = listDesc("topk_as_of_seconds", "Unix time up to which the list is counted.")
	shardsDesc     = listDesc("topk_shards", "Shards that take part in the list.", "state")

	listsDesc    = prometheus.NewDesc("topk_lists", "Lists that are served, those of groups included.", nil, nil)
	requestsDesc = prometheus.NewDesc("topk_http_requests_total", "Requests answered.", []string{"route", "code"}, nil)
)

func listDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append(append([]string{}, listLabels...), labels...), nil)
}

// exposition makes the series of the catalog that is served when it is scraped.
type exposition struct {
	store    *store
	requests *requestCounts
}

// newMetricsPage is the handler of /metrics, with a registry of its own.
func newMetricsPage(s *store, requests *requestCounts) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(exposition{s, requests})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

func (e exposition) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		estimateDesc, lowerDesc, keyDesc, totalDesc, totalUpperDesc, otherDesc, distinctDesc, thetaDesc, certifiedDesc,
		partialDesc, asOfDesc, shardsDesc, listsDesc, requestsDesc,
	} {
		descs <- d
	}
}

func (e exposition) Collect(metrics chan<- prometheus.Metric) {
	c := e.store.catalog()
	metrics <- prometheus.MustNewConstMetric(listsDesc, prometheus.GaugeValue, float64(c.lists))
	for r := range e.requests.all() {
		metrics <- prometheus.MustNewConstMetric(requestsDesc, prometheus.CounterValue, float64(r.count), r.route, strconv.Itoa(r.code))
	}
	for _, name := range c.names {
		r := c.rules[name]
		for _, w := range r.windows {
			if l := r.lists[listID{w, rule.Group{}}]; l != nil {
				collectList(metrics, l)
			}
		}
	}
}

func collectList(metrics chan<- prometheus.Metric, l *list) {
	labels := []string{valid(l.Rule.Name), window.Name(l.Window), l.Group.Scope.String(), valid(l.Group.Name)}
	gauge := func(d *prometheus.Desc, value float64, more ...string) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append(labels[:len(labels):len(labels)], more...)...)
	}
	first := l.List.First(min(exposedRanks, l.List.K))
	for i := range first.Items {
		item, rank := &first.Items[i], strconv.Itoa(i+1)
		gauge(estimateDesc, float64(item.Estimate), rank)
		gauge(lowerDesc, float64(item.Lower), rank)
		gauge(keyDesc, 1, rank, valid(item.Key))
	}
	gauge(totalDesc, float64(l.Total))
	gauge(totalUpperDesc, float64(l.TotalUpper))
	gauge(otherDesc, float64(other(l.Total, first.Items)))
	gauge(distinctDesc, float64(l.Distinct))
	gauge(thetaDesc, float64(unlisted(first)))
	gauge(certifiedDesc, truth(first.Certified))
	gauge(partialDesc, truth(len(l.PartialReasons) > 0))
	if !l.AsOf.IsZero() {
		gauge(asOfDesc, float64(l.AsOf.UnixMilli())/1000)
	}
	gauge(shardsDesc, float64(l.Coverage.Reporting), "reporting")
	gauge(shardsDesc, float64(l.Coverage.Silent), "silent")
	gauge(shardsDesc, float64(l.Coverage.Gone), "gone")
}

// valid is text as a label value may be.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
