package topkexporter

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func matches(pattern, text string) []string {
	var found []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

func TestThePageLoadsNothingFromElsewhere(t *testing.T) {
	page := string(files["/"].body)
	links := matches(`(?:src|href)="([^"]*)"`, page)
	require.NotEmpty(t, links)
	for _, link := range links {
		assert.Contains(t, routes, "/"+link, "relative, so that the page works below any path")
	}
	for _, path := range []string{"/", "/app.js", "/style.css"} {
		assert.NotRegexp(t, `https?://|url\(|@import|"//`, string(files[path].body), path)
	}
	for _, path := range matches("ask\\(['`]([^'`]*)", string(files["/app.js"].body)) {
		assert.Contains(t, routes, "/"+path)
	}
}

// TestThePageCannotRunWhatAKeySays: nothing that comes from the API is read as markup or code, and nothing in the page needs
// the policy to be softer.
func TestThePageCannotRunWhatAKeySays(t *testing.T) {
	page, script := string(files["/"].body), string(files["/app.js"].body)
	assert.NotRegexp(t, `innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|DOMParser|setAttribute\('(style|on)`, script)
	assert.NotRegexp(t, `(?i)<script>|<style|\son[a-z]+=|\sstyle=|javascript:`, page)
}

func TestTheScriptAndThePageNameTheSameElements(t *testing.T) {
	page, script := string(files["/"].body), string(files["/app.js"].body)
	ids := matches(`id="([^"]*)"`, page)
	for _, id := range matches(`\$\('([^']*)'\)`, script) {
		assert.Contains(t, ids, id)
	}
	for _, class := range matches(`class="([a-z ]+)"`, page) {
		for _, name := range strings.Fields(class) {
			assert.Contains(t, string(files["/style.css"].body), "."+name)
		}
	}
}
