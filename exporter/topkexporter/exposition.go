package topkexporter

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// exposedRanks is how many ranks of a global list /metrics shows. A list takes at most 3 series a rank, 21
// by key (keySeries) and 17 more, so 68 for each rule and window, however often keys change places.
const exposedRanks = 10

var (
	listLabels = []string{"rule", "window", "scope", "group"}

	estimateDesc   = listDesc(wire.GaugeEstimate, "rank")
	lowerDesc      = listDesc(wire.GaugeLower, "rank")
	keyDesc        = listDesc(wire.GaugeKey, "rank", "key")
	byKeyDesc      = listDesc(wire.GaugeKeyEstimate, "key", "overflow")
	totalDesc      = listDesc(wire.GaugeTotal)
	totalUpperDesc = listDesc(wire.GaugeTotalUpper)
	otherDesc      = listDesc(wire.GaugeOther)
	distinctDesc   = listDesc(wire.GaugeDistinct)
	thetaDesc      = listDesc(wire.GaugeTheta)
	gapDesc        = listDesc(wire.GaugeGap)
	errorBoundDesc = listDesc(wire.GaugeErrorBound)
	certifiedDesc  = listDesc(wire.GaugeCertified)
	partialDesc    = listDesc(wire.GaugePartial)
	asOfDesc       = listDesc(wire.GaugeAsOf)
	shardsDesc     = listDesc(wire.GaugeShards, "state")
	lateDesc       = listDesc(wire.GaugeLate)
	futureDesc     = listDesc(wire.GaugeFuture)
	droppedDesc    = listDesc(wire.GaugeDropped)
	overflowedDesc = listDesc(wire.GaugeOverflowed)

	storageDesc  = prometheus.NewDesc("topk_storage_up", "1: the exporter's lists and history are stored, 0: storing fails. Only with a storage.", nil, nil)
	listsDesc    = prometheus.NewDesc("topk_lists", "Lists that are served, those of groups included.", nil, nil)
	recountsDesc = prometheus.NewDesc("topk_recounts", "Recounts that run or wait. Only where they are configured.", []string{"state"}, nil)
	requestsDesc = prometheus.NewDesc("topk_http_requests_total", "Requests answered.", []string{"route", "code"}, nil)
)

func listDesc(name string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, wire.GaugeHelp[name], append(append([]string{}, listLabels...), labels...), nil)
}

// exposition makes the series of the catalog that is served when it is scraped.
type exposition struct{ *handler }

// newMetricsPage is the handler of /metrics, with a registry of its own.
func newMetricsPage(h *handler) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(exposition{h})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

func (e exposition) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		estimateDesc, lowerDesc, keyDesc, byKeyDesc, totalDesc, totalUpperDesc, otherDesc, distinctDesc, thetaDesc, gapDesc, errorBoundDesc, certifiedDesc,
		partialDesc, asOfDesc, shardsDesc, lateDesc, futureDesc, droppedDesc, overflowedDesc, storageDesc, listsDesc, recountsDesc, requestsDesc,
	} {
		descs <- d
	}
	for _, d := range auditDescs {
		descs <- d
	}
}

func (e exposition) Collect(metrics chan<- prometheus.Metric) {
	c := e.store.catalog()
	metrics <- prometheus.MustNewConstMetric(listsDesc, prometheus.GaugeValue, float64(c.lists))
	switch e.store.storage.state() {
	case storageUp:
		metrics <- prometheus.MustNewConstMetric(storageDesc, prometheus.GaugeValue, 1)
	case storageFailing:
		metrics <- prometheus.MustNewConstMetric(storageDesc, prometheus.GaugeValue, 0)
	}
	if e.recounts != nil {
		jobs := e.recounts.queue.State()
		metrics <- prometheus.MustNewConstMetric(recountsDesc, prometheus.GaugeValue, float64(jobs.Running), "running")
		metrics <- prometheus.MustNewConstMetric(recountsDesc, prometheus.GaugeValue, float64(jobs.Waiting), "waiting")
	}
	e.recounts.collect(metrics)
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
	others, weight := l.series.each(l.List.Items, func(key string, estimate uint64) { gauge(byKeyDesc, float64(estimate), valid(key), "") })
	if others > 0 {
		gauge(byKeyDesc, float64(weight), "", "true")
	}
	gauge(totalDesc, float64(l.Total))
	gauge(totalUpperDesc, float64(l.TotalUpper))
	gauge(otherDesc, float64(first.Other(l.Total)))
	gauge(distinctDesc, float64(l.Distinct))
	gauge(thetaDesc, float64(first.Unlisted()))
	gauge(gapDesc, float64(first.Gap()))
	gauge(errorBoundDesc, float64(first.ErrorBound()))
	gauge(certifiedDesc, truth(first.Certified))
	gauge(partialDesc, truth(len(l.PartialReasons) > 0))
	if !l.AsOf.IsZero() {
		gauge(asOfDesc, float64(l.AsOf.Unix()))
	}
	gauge(shardsDesc, float64(l.Coverage.Reporting), "reporting")
	gauge(shardsDesc, float64(l.Coverage.Silent), "silent")
	gauge(shardsDesc, float64(l.Coverage.Gone), "gone")
	gauge(lateDesc, float64(l.Coverage.Late))
	gauge(futureDesc, float64(l.Coverage.Future))
	gauge(droppedDesc, float64(l.Coverage.Dropped))
	gauge(overflowedDesc, float64(l.Coverage.OverflowedShards))
}

// valid is text as a label value may be.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
