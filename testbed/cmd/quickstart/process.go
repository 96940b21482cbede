package main

import (
	"fmt"
	"os"
	"os/exec"
	"time"
)

// process is a child that does not outlive the quickstart.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

func start(output *os.File, binary string, args ...string) (*process, error) {
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = output, output
	bind(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(p.ended)
	}()
	return p, nil
}

// stop asks the process to end, and ends it if it has not within ten seconds.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt) // an error means that it has ended
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}
