// Command certs makes the certificates that examples/secure asks for.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/otel-topk/collector/testbed/certs"
)

func main() {
	dir := flag.String("dir", "certs", "`folder` to write to")
	hosts := flag.String("hosts", "localhost,127.0.0.1,::1", "names and addresses of the gateway")
	validFor := flag.Duration("valid", 30*24*time.Hour, "how long they are valid")
	flag.Parse()
	if err := certs.Write(*dir, strings.Split(*hosts, ","), *validFor); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
