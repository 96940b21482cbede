package topkexporter

import (
	"github.com/prometheus/client_golang/prometheus"
)

var (
	agreementDesc = auditDesc("topk_audit_agreement", "Part of the exact first 10 that was served as such, ties aside: of the worst list, in the newest audited hour or day.")
	boundsDesc    = auditDesc("topk_audit_bounds_held", "1: in the newest audit every exact count was within the bounds that were served, 0: one was not.")
	errorDesc     = auditDesc("topk_audit_largest_error", "Largest difference of a served estimate from the exact count, in the newest audit.")
	errBoundDesc  = auditDesc("topk_audit_largest_error_bound", "Largest error bound that was served, in the newest audit.")
	auditedDesc   = auditDesc("topk_audit_hour_timestamp_seconds", "End of the newest audited hour or day, in seconds since 1970.")
	auditsDesc    = auditDesc("topk_audits_total", "Hours or days audited since the start, those that were made anew included.")
	disagreeDesc  = auditDesc("topk_audit_disagreements_total", "Audits since the start in which a list disagreed or a bound did not hold.")

	unservedDesc = prometheus.NewDesc("topk_audit_unserved", "Hours that were archived and of which nothing was served where it ought to have been, found in the last 24 hours.", []string{"rule"}, nil)
	lagDesc      = prometheus.NewDesc("topk_audit_lag_seconds", "How far the newest audited hour is behind the newest that is counted exactly and to be audited.", []string{"rule"}, nil)

	waitingDesc = prometheus.NewDesc("topk_exact_tables_waiting", "Closed hours of rules that are not counted exactly yet.", nil, nil)
	tablesDesc  = prometheus.NewDesc("topk_exact_tables_total", "Exact tables made, failed (and tried again) or removed since the start; made_anew are closed hours among them that had new files.", []string{"outcome"}, nil)
)

var auditDescs = []*prometheus.Desc{agreementDesc, boundsDesc, errorDesc, errBoundDesc, auditedDesc, auditsDesc, disagreeDesc, unservedDesc, lagDesc, waitingDesc, tablesDesc}

func auditDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"rule", "window"}, nil)
}

// collect what is exact, and how what was served agreed with it.
func (r *recounting) collect(metrics chan<- prometheus.Metric) {
	if r == nil || r.exact == nil {
		return
	}
	stats := r.exact.Stats()
	metrics <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(stats.Waiting))
	for outcome, n := range map[string]int64{"made": stats.Made, "made_anew": stats.Anew, "failed": stats.Failed, "removed": stats.Removed} {
		metrics <- prometheus.MustNewConstMetric(tablesDesc, prometheus.CounterValue, float64(n), outcome)
	}
	for name, a := range r.exact.Auditing() {
		metrics <- prometheus.MustNewConstMetric(unservedDesc, prometheus.GaugeValue, float64(a.Unserved), valid(name))
		metrics <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, a.Lag.Seconds(), valid(name))
	}
	for _, a := range r.exact.AuditStates() {
		labels := []string{valid(a.Rule), windowOf(a.Audit)}
		for desc, value := range map[*prometheus.Desc]float64{
			agreementDesc: a.Agreement, boundsDesc: truth(a.BoundsHeld), errorDesc: float64(a.Error), errBoundDesc: float64(a.ErrorBound),
			auditedDesc: float64(a.To.Start().Unix()),
		} {
			metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
		}
		metrics <- prometheus.MustNewConstMetric(auditsDesc, prometheus.CounterValue, float64(a.Done), labels...)
		metrics <- prometheus.MustNewConstMetric(disagreeDesc, prometheus.CounterValue, float64(a.Disagreed), labels...)
	}
}
