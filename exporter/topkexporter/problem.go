package topkexporter

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// problem is an answer that is an error: a status and what to say.
type problem struct {
	status     int
	text       string
	retryAfter time.Duration // in whole seconds; 0: it is not said
}

func (p *problem) Error() string { return p.text }

func badRequest(format string, args ...any) error {
	return &problem{status: http.StatusBadRequest, text: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &problem{status: http.StatusNotFound, text: fmt.Sprintf(format, args...)}
}

// mostNamed is how many names an error lists.
const mostNamed = 20

// named lists what is allowed, shortened if it is long.
func named(names []string) string {
	if len(names) == 0 {
		return "none yet"
	}
	quoted := make([]string, min(len(names), mostNamed))
	for i := range quoted {
		quoted[i] = strconv.Quote(names[i])
	}
	text := strings.Join(quoted, ", ")
	if more := len(names) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func forbidden(format string, args ...any) error {
	return &problem{status: http.StatusForbidden, text: fmt.Sprintf(format, args...)}
}

func conflicting(format string, args ...any) error {
	return &problem{status: http.StatusConflict, text: fmt.Sprintf(format, args...)}
}
