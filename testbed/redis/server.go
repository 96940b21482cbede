// Package redis runs a real Redis server for tests. It keeps nothing when it ends.
package redis

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

// Server is one process.
type Server struct {
	testing.TB
	port string
	cmd  *exec.Cmd
}

// Start a server at an address of this machine that is free.
func Start(t testing.TB, address string) *Server {
	t.Helper()
	_, port, _ := strings.Cut(address, ":")
	s := &Server{TB: t, port: port}
	s.Begin()
	t.Cleanup(s.Kill)
	return s
}

// Begin runs the server, again if it was killed, and waits until it answers.
func (s *Server) Begin() {
	s.Helper()
	s.cmd = exec.Command("redis-server", "--port", s.port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.TempDir())
	require.NoError(s, s.cmd.Start(), "tools/apt-install.sh redis-server")
	collector.Await(s, func() bool { return s.Command("PING") == "PONG" }, func() string { return "redis-server does not answer" })
}

// Kill the process, as kill -9 does.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// CPU time that the process used, once it was killed.
func (s *Server) CPU() time.Duration {
	return s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
}

// PID of the process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Command of redis-cli, and what the server says.
func (s *Server) Command(args ...string) string {
	said, _ := exec.Command("redis-cli", append([]string{"-p", s.port}, args...)...).Output()
	return strings.TrimSpace(string(said))
}
