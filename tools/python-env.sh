#!/usr/bin/env bash
# Makes a Python environment in a folder, with exactly the packages of a requirements file; nothing to do and no network when it is
# there. Installs Python by apt where it is missing.
set -euo pipefail

folder=$1
requirements=$2
made=$folder/requirements.txt # a copy, written last
cmp -s "$requirements" "$made" && exit 0

# The first one in PATH that can make environments; Debian keeps that in a package of its own.
usable() { command -v "$1" >/dev/null && "$1" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; }
python=python3
if ! usable "$python"; then
	"$(dirname "$0")/apt-install.sh" python3 python3-venv
	python=/usr/bin/python3
fi

rm -rf "$folder"
"$python" -m venv "$folder"
for try in 1 2 3; do
	if "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --use-pep517 --require-hashes -r "$requirements"; then
		cp "$requirements" "$made"
		exit 0
	fi
	echo "python-env: try $try failed" >&2
	sleep $((try * 5))
done
exit 1
