package topkexporter

import (
	"fmt"
	"net/http"
	"strings"
)

// problem is an answer that is an error: a status and what to say.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func badRequest(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &problem{http.StatusNotFound, fmt.Sprintf(format, args...)}
}

// mostNamed is how many names an error lists.
const mostNamed = 20

// named lists what is allowed, shortened if it is long.
func named(names []string) string {
	switch {
	case len(names) == 0:
		return "none yet"
	case len(names) > mostNamed:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), len(names)-mostNamed)
	}
	return strings.Join(names, ", ")
}
