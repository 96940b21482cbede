package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
)

const (
	outputTable = "table"
	outputJSON  = "json"
)

func addOutput(flags *pflag.FlagSet, output *string) {
	flags.StringVarP(output, "output", "o", outputTable, "table or json")
}

func checkOutput(output string) error {
	if output != outputTable && output != outputJSON {
		return fmt.Errorf("--output: %q is neither table nor json", output)
	}
	return nil
}

// indented JSON of a server.
func indented(w io.Writer, body []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(body), "", "  "); err != nil {
		return failure{fmt.Errorf("the answer is no JSON: %w", err)}
	}
	b.WriteByte('\n')
	_, err := b.WriteTo(w)
	return err
}

// isTerminal says whether what is written to w is read as it comes, by a person.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
