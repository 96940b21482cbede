package topkexporter

import (
	"embed"
	"io/fs"
)

//go:embed openapi.yaml page
var embedded embed.FS

// files are the answers that never change, by path.
var files = map[string]*answer{
	"/":             newFile("page/index.html", "text/html; charset=utf-8"),
	"/app.js":       newFile("page/app.js", "text/javascript; charset=utf-8"),
	"/icon.svg":     newFile("page/icon.svg", "image/svg+xml"),
	"/style.css":    newFile("page/style.css", "text/css; charset=utf-8"),
	"/openapi.yaml": newFile("openapi.yaml", typeYAML),
	"/healthz": newJSON(struct {
		Status string `json:"status"`
	}{"ok"}, cacheNothing),
}

func newFile(name, contentType string) *answer {
	body, err := fs.ReadFile(embedded, name)
	if err != nil {
		panic("topkexporter: " + err.Error()) // cannot be: it was embedded
	}
	return newAnswer(body, contentType, cacheFiles)
}
