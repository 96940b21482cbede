package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

const (
	// urlVariable names the environment variable that --url defaults to.
	urlVariable = "TOPK_URL"
	// authorizationVariable names the one with the value of the header Authorization: arguments are seen by all users of a machine.
	authorizationVariable = "TOPK_AUTHORIZATION"

	defaultURL = "http://localhost:7070"
	mostAnswer = 64 << 20 // bytes of an answer
)

// serverFlags say which topk exporter is asked.
type serverFlags struct {
	url, ca string
	timeout time.Duration
}

func (f *serverFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "url", "", "`URL` of a topk exporter (default: $"+urlVariable+", or "+defaultURL+")")
	flags.StringVar(&f.ca, "ca-file", "", "PEM `file` of the authority that signed its certificate (default: the system's)")
	flags.DurationVar(&f.timeout, "timeout", 5*time.Second, "`time` that an answer may take")
}

// server is a topk exporter.
type server struct {
	url           *url.URL
	authorization string
	client        *http.Client
}

func (f *serverFlags) server() (*server, error) {
	text := cmp.Or(f.url, os.Getenv(urlVariable), defaultURL)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("--url: %q is not the address of a server, such as %s", text, defaultURL)
	}
	if f.timeout <= 0 {
		return nil, fmt.Errorf("--timeout: %v is not more than 0s", f.timeout)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("--ca-file: %w", err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--ca-file: %s has no certificate in PEM", f.ca)
		}
	}
	return &server{u, os.Getenv(authorizationVariable), &http.Client{Transport: transport, Timeout: f.timeout}}, nil
}

// get asks for a path and returns the JSON that answers it. What the server refuses was asked wrongly; all else is a failure.
func (s *server) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	u := s.url.JoinPath(path)
	u.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if s.authorization != "" {
		request.Header.Set("Authorization", s.authorization)
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return nil, failure{err}
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, failure{fmt.Errorf("%s: %w", u.Redacted(), err)}
	}
	if answer.StatusCode == http.StatusOK {
		return body, nil
	}
	err = fmt.Errorf("%s answers %s", s.url.Redacted(), answer.Status)
	var refusal struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &refusal) == nil && refusal.Error != "" {
		err = fmt.Errorf("%w: %s", err, printable(refusal.Error))
	}
	if answer.StatusCode == http.StatusUnauthorized {
		return nil, failure{fmt.Errorf("%w; $%s is sent as the header Authorization", err, authorizationVariable)}
	}
	if answer.StatusCode != http.StatusBadRequest && answer.StatusCode != http.StatusNotFound {
		return nil, failure{err}
	}
	return nil, err
}

// listFlags say which list.
type listFlags struct {
	rule, window, group, scope, at, from, to string
}

func (f *listFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.rule, "rule", "", "`name` of the rule (default: the only one)")
	flags.StringVar(&f.window, "window", "", "`window` of the rule, such as 5m; all: all time, exactly (default: the shortest)")
	flags.StringVar(&f.group, "group", "", "list of this `group`")
	flags.StringVar(&f.scope, "scope", "", "list to ask for: global, missing (records without the group), overflow (groups beyond max_groups)")
	flags.StringVar(&f.at, "at", "", "a `moment` of the past, as 2026-01-02T15:00:00Z: the hour that holds it, with --window 24h the day")
	flags.StringVar(&f.from, "from", "", "whole hours of the past: the `moment` at which they begin")
	flags.StringVar(&f.to, "to", "", "and the `moment` at which they end")
}

// query of what was given. The server checks it, and says what is allowed.
func (f *listFlags) query(given func(flag string) bool) url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"rule": f.rule, "window": f.window, "group": f.group, "scope": f.scope, "at": f.at, "from": f.from, "to": f.to} {
		if given(name) {
			q.Set(name, value)
		}
	}
	return q
}

// heading is what answers say of their list.
type heading struct {
	Rule           string     `json:"rule"`
	Window         string     `json:"window"`
	Scope          string     `json:"scope"`
	Group          *string    `json:"group"`
	WindowStart    *time.Time `json:"window_start"`
	AsOf           *time.Time `json:"as_of"`
	Approximate    bool       `json:"approximate"`
	PartialReasons []string   `json:"partial_reasons"`
}

// name of the list, as a person would say it.
func (h *heading) name() string {
	name := h.Rule + ", " + h.Window
	switch {
	case h.Scope == "group" && h.Group != nil:
		return name + ", group " + printable(*h.Group)
	case h.Scope != "global":
		return name + ", " + h.Scope
	}
	return name
}

// state says how far the list may be trusted, beside its bounds.
func (h *heading) state() string {
	if len(h.PartialReasons) == 0 {
		return "complete"
	}
	return "PARTIAL: " + strings.Join(h.PartialReasons, ", ")
}

// time up to which the list counts.
func (h *heading) time() string {
	if h.AsOf == nil {
		return "no list yet"
	}
	return "as of " + h.AsOf.UTC().Format("2006-01-02 15:04:05 UTC")
}
