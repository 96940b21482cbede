package topkexporter

import (
	"embed"
	"io/fs"
)

//go:embed openapi page
var embedded embed.FS

// files are the answers that never change, by path.
var files = map[string]*answer{
	"/":             newFile("text/html; charset=utf-8", "page/index.html"),
	"/app.js":       newFile("text/javascript; charset=utf-8", "page/past.js", "page/app.js", "page/recount.js"),
	"/icon.svg":     newFile("image/svg+xml", "page/icon.svg"),
	"/style.css":    newFile("text/css; charset=utf-8", "page/style.css"),
	"/openapi.yaml": newAnswer(joined("openapi/calls.yaml", "openapi/components.yaml", "openapi/exact.yaml"), typeYAML, cacheFiles),
	"/healthz": newJSON(struct {
		Status string `json:"status"`
	}{"ok"}, cacheNothing),
}

func newFile(contentType string, names ...string) *answer {
	return newAnswer(joined(names...), contentType, cacheFiles)
}

// joined is one file after the other.
func joined(names ...string) (all []byte) {
	for _, name := range names {
		body, err := fs.ReadFile(embedded, name)
		if err != nil {
			panic("topkexporter: " + err.Error()) // cannot be: it was embedded
		}
		all = append(all, body...)
	}
	return all
}
