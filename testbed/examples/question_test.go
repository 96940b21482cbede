package examples_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// question is a call of curl as a page shows it.
type question struct {
	url, user, header string
	ca, cert, key     string // files
}

var word = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

// parseQuestion reads a line of a shell; variables are those of the environment.
func parseQuestion(t *testing.T, line string) question {
	t.Helper()
	var q question
	options := map[string]*string{
		"--cacert": &q.ca, "--cert": &q.cert, "--key": &q.key, "-u": &q.user, "-H": &q.header,
	}
	words := word.FindAllString(line, -1)
	require.Equal(t, "curl", words[0])
	for i := 1; i < len(words); i++ {
		target := &q.url
		if option, ok := options[words[i]]; ok {
			i++
			target = option
		}
		require.Empty(t, *target, "%s twice in %s", words[i], line)
		*target = unquoted(words[i])
	}
	return q
}

func unquoted(word string) string {
	if after, ok := strings.CutPrefix(word, "'"); ok {
		return strings.TrimSuffix(after, "'")
	}
	return os.ExpandEnv(strings.Trim(word, `"`))
}

// with the files of dir in the place of those in certs/.
func (q question) with(dir string) question {
	for _, file := range []*string{&q.ca, &q.cert, &q.key} {
		if *file != "" {
			*file = filepath.Join(dir, filepath.Base(*file))
		}
	}
	return q
}

// at another path and address.
func (q question) at(address, path string) question {
	scheme, _, _ := strings.Cut(q.url, "://")
	q.url = scheme + "://" + address + path
	return q
}

// ask as curl does, and return the answer.
func (q question) ask(t *testing.T) (status int, body string, err error) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{}}
	if q.ca != "" {
		text, err := os.ReadFile(q.ca)
		require.NoError(t, err)
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		require.True(t, transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(text))
	}
	if q.cert != "" {
		pair, err := tls.LoadX509KeyPair(q.cert, q.key)
		require.NoError(t, err)
		transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, q.url, nil)
	require.NoError(t, err)
	if name, value, ok := strings.Cut(q.header, ": "); ok {
		request.Header.Set(name, value)
	}
	if name, password, ok := strings.Cut(q.user, ":"); ok {
		request.SetBasicAuth(name, password)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}
