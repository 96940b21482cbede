package wire

// The gauges of a Snapshot carry the same names wherever they are read: from the topk exporter's /metrics or from a metrics
// pipeline. Each has the labels rule, window, scope and group.
const (
	GaugeEstimate    = "topk_estimate"     // by rank
	GaugeLower       = "topk_lower"        // by rank
	GaugeKey         = "topk_key_info"     // by rank and key
	GaugeKeyEstimate = "topk_key_estimate" // by key
	GaugeTotal       = "topk_total_weight"
	GaugeTotalUpper  = "topk_total_weight_upper"
	GaugeOther       = "topk_other"
	GaugeDistinct    = "topk_distinct"
	GaugeTheta       = "topk_theta"
	GaugeGap         = "topk_rank_gap"
	GaugeErrorBound  = "topk_error_bound"
	GaugeCertified   = "topk_certified"
	GaugePartial     = "topk_partial"
	GaugeAsOf        = "topk_as_of_seconds" // whole seconds
	GaugeShards      = "topk_shards"        // by state
	GaugeLate        = "topk_late_records"
	GaugeFuture      = "topk_future_records"
	GaugeDropped     = "topk_dropped_states"
	GaugeOverflowed  = "topk_overflowed_shards"
)

// GaugeHelp says what each gauge is.
var GaugeHelp = map[string]string{
	GaugeEstimate:    "Estimated weight of the key at this rank; never below the true one.",
	GaugeLower:       "Weight that the key at this rank has at least.",
	GaugeKey:         "The key at this rank; always 1.",
	GaugeKeyEstimate: "Estimated weight of a key that is, or was of late, among the first; of those that the budget of series has no place for together, where overflow is true.",
	GaugeTotal:       "Weight counted in the window.",
	GaugeTotalUpper:  "Weight counted in the window, and what overflow may hide of it.",
	GaugeOther:       "topk_total_weight less the sum of topk_lower.",
	GaugeDistinct:    "Estimated number of distinct keys.",
	GaugeTheta:       "No key without a rank weighs more.",
	GaugeGap:         "How far the estimate at the last rank is above what any key without a rank may weigh.",
	GaugeErrorBound:  "Most by which an estimate at a rank may be too high; the list is certified while topk_rank_gap is more.",
	GaugeCertified:   "1 if the keys with a rank are certainly the heaviest, else 0.",
	GaugePartial:     "1 if the list lacks records, else 0.",
	GaugeAsOf:        "Unix time up to which the list is counted.",
	GaugeShards:      "Shards that take part in the list.",
	GaugeLate:        "Records that arrived within the window too late to be counted.",
	GaugeFuture:      "Records that arrived within the window and were not counted because they are too far ahead.",
	GaugeDropped:     "Final states that shards gave up within the window.",
	GaugeOverflowed:  "Shards that count a part of their groups in scope overflow.",
}
