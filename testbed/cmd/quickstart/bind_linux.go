package main

import (
	"os/exec"
	"runtime"
	"syscall"
)

// The kernel ends a bound child with the thread that started it: the main one, which lives as long as the process.
func init() { runtime.LockOSThread() }

// bind gives cmd a group of its own, so that Ctrl-C reaches the quickstart alone, which then stops the stream before the
// collector; and has the kernel end it should the quickstart be killed.
func bind(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
