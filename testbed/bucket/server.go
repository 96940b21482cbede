// Package bucket runs versitygw, an S3 server whose buckets are folders, for tests, and a proxy before it that does what networks
// and overloaded servers do. `make test-servers` builds versitygw.
package bucket

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

// Credentials of the server, which the AWS SDK takes from the environment.
const (
	AccessKey = "the-key-of-the-tests"
	SecretKey = "the-secret-of-the-tests"
)

// Server is a running versitygw.
type Server struct {
	Address string

	folder string // of the buckets
	state  string // of what versitygw keeps beside them
	cmd    *exec.Cmd
	said   *output
}

// Start a server without a bucket. When the test ends it is stopped.
func Start(t testing.TB) *Server {
	t.Helper()
	dir := t.TempDir()
	s := &Server{
		Address: collector.NewPorts().Address(t, "s3"),
		folder:  filepath.Join(dir, "buckets"), state: filepath.Join(dir, "state"), said: new(output),
	}
	for _, folder := range []string{s.folder, s.state} {
		require.NoError(t, os.Mkdir(folder, 0o700))
	}
	s.Again(t)
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("versitygw said:\n%s", s.said)
		}
	})
	return s
}

// Again starts a server that was stopped.
func (s *Server) Again(t testing.TB) {
	t.Helper()
	file := collector.File(t, filepath.Join("_build", "tools", "versitygw"), "test-servers")
	s.cmd = exec.Command(file, "--access", AccessKey, "--secret", SecretKey, "--port", s.Address, "--region", Region,
		"posix", "--sidecar", s.state, s.folder)
	s.cmd.Stdout, s.cmd.Stderr = s.said, s.said
	require.NoError(t, s.cmd.Start())
	collector.Await(t, func() bool {
		conn, err := net.Dial("tcp", s.Address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	}, func() string { return "no S3 server: " + s.said.String() })
}

// Stop ends the server at once.
func (s *Server) Stop() {
	_ = s.cmd.Process.Kill() // an error means that it has ended
	_ = s.cmd.Wait()
}

// Create a bucket, and return the folder that its objects are files in.
func (s *Server) Create(t testing.TB, name string) string {
	t.Helper()
	folder := filepath.Join(s.folder, name)
	require.NoError(t, os.Mkdir(folder, 0o700))
	return folder
}

// Region of the server.
const Region = "us-east-1"

// URL of a bucket behind an address, that of the server or of a proxy.
func URL(address, name string) string {
	return "s3://" + name + "?region=" + Region + "&use_path_style=true&endpoint=http://" + address
}

// output keeps what a process prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
