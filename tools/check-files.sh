#!/usr/bin/env bash
# What no linter checks: the length of files that are not Go, goroutines in the pure packages, and plain prose.
# Prints each finding as file:line and ends with 1 if there is one.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

files() { # tracked text files written by hand, narrowed by git pathspecs
	git ls-files -z -- "$@" ':!*.sum' ':!*.mod' ':!LICENSE' ':!*/testdata/*' ':!*.pb.go' ':!*generated_*' ':!*/metadata/*'
}

search() { # why, pattern, git pathspecs: each line that matches
	local why=$1 pattern=$2
	shift 2
	files "$@" ':!tools/check-files.sh' | xargs -0 -r grep -HnIE "$pattern" | cut -d: -f1,2 | sed "s|\$|: $why|"
}

findings=$(
	files | xargs -0 -r wc -l | awk '$1 > 400 && $2 != "total" {print $2 ":" $1 ": longer than 400 lines"}'
	search "a goroutine in a pure package" '(^[[:space:]]*go (func\b|[a-zA-Z_.]+\()|\.Go\()' 'topk/*.go' 'internal/*.go' ':!internal/uplink/*' ':!*_test.go'
	search "a promise instead of work" '\b(TODO|FIXME|XXX)\b'
	search "a merge that was left half-way" '^(<<<<<<<|>>>>>>>) '
	search "white space at the end" '[[:space:]]+$'
	search "a word twice" '\b(the the|a a|is is|of of|to to|and and|in in)\b' '*.md'
	search "a word that says nothing" '\b([Ss]imply|[Uu]tilize|[Ll]everage|[Ss]eamless(ly)?|[Bb]lazing(ly)?|[Rr]obust)\b' '*.md'
)
[ -z "$findings" ] || { printf '%s\n' "$findings" && exit 1; }
