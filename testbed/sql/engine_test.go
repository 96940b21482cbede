package sql_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

// engines by the name they have on the page, and in engine.py.
var engines = map[string]string{"DuckDB": "duckdb", "ClickHouse": "clickhouse", "Spark": "spark"}

// null is how the tests write what SQL calls so: no text of a record.
const null = "\x00null"

// engine is a running one.
type engine struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// patience with a whole engine: Spark starts three Java machines.
const patience = 8 * time.Minute

func start(t *testing.T, name string) *engine {
	t.Helper()
	script, err := filepath.Abs("engine.py")
	require.NoError(t, err)
	folder := t.TempDir()
	cmd := exec.Command(collector.File(t, filepath.Join("_build", "python", "bin", "python"), "test-servers"), script, name, folder)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "PYTHONUTF8=1", "SPARK_LOCAL_IP=127.0.0.1")
	var said strings.Builder
	cmd.Stderr = &said
	cmd.WaitDelay = time.Minute // for what it started, too
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		_ = in.Close()
		err := cmd.Wait()
		kill.Stop()
		if err != nil || t.Failed() {
			t.Errorf("%s: %v\n%s", name, err, said.String())
		}
	})
	return &engine{in, bufio.NewReader(out)}
}

// run the statements of a block, and return the rows of the last one.
func (e *engine) run(t *testing.T, block string) [][]string {
	t.Helper()
	var rows [][]string
	for _, statement := range strings.Split(block, ";\n") {
		if statement = strings.TrimSpace(statement); statement == "" {
			continue
		}
		var err error
		rows, err = e.statement(statement)
		require.NoError(t, err, statement)
	}
	return rows
}

func (e *engine) statement(sql string) ([][]string, error) {
	line, err := json.Marshal(sql)
	if err != nil {
		return nil, err
	}
	if _, err := e.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	said, err := e.out.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error string
		Rows  [][]*string
	}
	if err := json.Unmarshal(said, &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	rows := make([][]string, len(answer.Rows))
	for i, row := range answer.Rows {
		for _, value := range row {
			if value == nil {
				rows[i] = append(rows[i], null)
			} else {
				rows[i] = append(rows[i], *value)
			}
		}
	}
	return rows, nil
}
