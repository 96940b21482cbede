package servers_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAlertRules: the rules that are deployed read, and fire when they should and not else.
func TestAlertRules(t *testing.T) {
	for _, call := range [][]string{{"check", "rules", "rules.yaml", "fleet.yaml", "keys.yaml"}, {"test", "rules", "rules_test.yaml", "fleet_test.yaml", "keys_test.yaml"}} {
		cmd := exec.Command("promtool", call...)
		cmd.Dir = "../../deploy/prometheus"
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
}
