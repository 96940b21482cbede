package wire

// Domain and NotStored are those of the ErrorInfo in an answer of code Unavailable: what the request brought is counted, but would
// not outlast the gateway, and is to be sent again after the answer's RetryInfo. What else there is to send need not wait.
const (
	Domain    = "otel-topk"
	NotStored = "NOT_STORED"
)
