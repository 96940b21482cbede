package topkexporter

import (
	"net"
	"net/http"

	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/confignet"
)

// guard says who may use recounts: they take work, and hold keys and reasons. So they need a login, or an endpoint that only this
// machine reaches; and no page of another site may have a browser of this machine ask.
type guard struct {
	open   bool // with a login, or on this machine only
	local  bool // without a login, by TCP: the name that was asked for must be of this machine, or DNS was made to lie
	origin *http.CrossOriginProtection
}

func newGuard(server *confighttp.ServerConfig) guard {
	login := server.Auth.HasValue()
	socket := server.NetAddr.Transport == confignet.TransportTypeUnix
	return guard{
		open:   login || socket || loopback(server.NetAddr.Endpoint),
		local:  !login && !socket,
		origin: http.NewCrossOriginProtection(),
	}
}

func (g *guard) check(r *http.Request) error {
	switch {
	case !g.open:
		return forbidden("recounts are on only where auth is configured, or where endpoint is of this machine alone, such as %s", defaultEndpoint)
	case g.local && !loopback(r.Host):
		return forbidden("host: %q is no name of this machine; allowed without auth: localhost, 127.0.0.1, [::1]", r.Host)
	case g.origin.Check(r) != nil:
		return forbidden("origin: %q is not the site that was asked; a page of another site may not ask for recounts", r.Header.Get("Origin"))
	}
	return nil
}

// loopback says whether the host of host:port, or host alone, is of this machine.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if n := len(host); n > 1 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
