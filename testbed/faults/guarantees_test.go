package faults

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every row of the page of guarantees names tests, and each test that it names is there.
func TestEveryGuaranteeIsShownByTestsThatExist(t *testing.T) {
	const docs = "../../docs"
	text, err := os.ReadFile(filepath.Join(docs, "guarantees.md"))
	require.NoError(t, err)
	named := regexp.MustCompile(`\[((?:Test|Fuzz)\w+)(?:/(\w+))?\]\(([^)]+)\)`)
	links := named.FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		source, err := os.ReadFile(filepath.Join(docs, link[3]))
		require.NoError(t, err)
		assert.True(t, strings.Contains(string(source), "\nfunc "+link[1]+"("), "%s has no %s", link[3], link[1])
		if link[2] != "" {
			assert.Contains(t, kindNames(), link[2])
		}
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| fault |") {
			assert.Regexp(t, named, line)
		}
	}
}

func kindNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}
