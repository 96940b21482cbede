package topkexporter

import (
	"embed"
	"io/fs"
)

//go:embed openapi page
var embedded embed.FS

// files are the answers that never change, by path.
var files = map[string]*answer{
	"/":             newFile("page/index.html", "text/html; charset=utf-8"),
	"/app.js":       newFile("page/app.js", "text/javascript; charset=utf-8"),
	"/icon.svg":     newFile("page/icon.svg", "image/svg+xml"),
	"/style.css":    newFile("page/style.css", "text/css; charset=utf-8"),
	"/openapi.yaml": newAnswer(joined("openapi/calls.yaml", "openapi/components.yaml", "openapi/exact.yaml"), typeYAML, cacheFiles),
	"/healthz": newJSON(struct {
		Status string `json:"status"`
	}{"ok"}, cacheNothing),
}

func newFile(name, contentType string) *answer {
	return newAnswer(joined(name), contentType, cacheFiles)
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
