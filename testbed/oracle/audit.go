package oracle

import "time"

// Audit is an element of the API's answer to a call of /v1/audits.
type Audit struct {
	Rule              string        `json:"rule"`
	Window            string        `json:"window"`
	WindowStart       time.Time     `json:"window_start"`
	Lists             int           `json:"lists"`
	DisagreeingLists  int           `json:"disagreeing_lists"`
	Agreement         float64       `json:"agreement"`
	BoundsHeld        bool          `json:"bounds_held"`
	Certified         bool          `json:"certified"`
	LargestError      uint64        `json:"largest_error"`
	LargestErrorBound uint64        `json:"largest_error_bound"`
	PartialReasons    []string      `json:"partial_reasons"`
	Global            AuditedList   `json:"global"`
	WorstGroups       []AuditedList `json:"worst_groups"`
}

// AuditedList is one list of an Audit.
type AuditedList struct {
	Scope       string  `json:"scope"`
	Group       string  `json:"group"`
	Agreement   float64 `json:"agreement"`
	BoundsHeld  bool    `json:"bounds_held"`
	Total       uint64  `json:"total"`
	ServedTotal uint64  `json:"served_total"`
}
