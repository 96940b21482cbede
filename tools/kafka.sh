#!/usr/bin/env bash
# Fetches the jars of a Kafka broker by Maven into the named directory; nothing to do where they are there.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
pom=$root/testbed/kafka/pom.xml
target=$1
if [ -f "$target/done" ] && cmp -s "$pom" "$target/done"; then
	exit 0
fi
command -v java >/dev/null || "$root/tools/apt-install.sh" default-jre-headless
command -v mvn >/dev/null || "$root/tools/apt-install.sh" maven
rm -rf "$target"
mkdir -p "$target"
for try in 1 2 3; do
	if mvn -q -B -f "$pom" dependency:copy-dependencies "-DoutputDirectory=$(cd "$target" && pwd)/jars"; then
		cp "$pom" "$target/done"
		exit 0
	fi
	echo "kafka: try $try failed" >&2
	sleep $((try * 5))
done
exit 1
