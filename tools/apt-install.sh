#!/usr/bin/env bash
# Installs the named Debian packages that are missing; nothing to do and no network when all are there.
set -euo pipefail

missing=()
for package in "$@"; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
command -v apt-get >/dev/null || { echo "apt-install: no apt-get here; install ${missing[*]} by hand" >&2 && exit 1; }

for try in 1 2 3 4 5; do
	if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; then
		exit 0
	fi
	echo "apt-install: try $try failed" >&2
	sleep $((try * 5))
done
exit 1
