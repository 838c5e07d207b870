#!/usr/bin/env bash
# Makes sure that there is a Chromium, which the tests of zklock ui drive. Where it
# cannot be had they skip, and say so: this says why, and is no failure.
set -euo pipefail

for name in ${CHROMIUM:-chromium} chromium-browser google-chrome; do
	if command -v "$name" >/dev/null; then
		exit 0
	fi
done

give_up() {
	echo "*** No Chromium on this machine, and it cannot be installed here: $1. The tests of zklock ui in a browser skip." >&2
	exit 0
}

command -v apt-get >/dev/null || give_up "no apt-get"
sudo=()
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || give_up "neither root nor sudo"
	sudo=(sudo)
fi
echo "Installing Debian's chromium package ..." >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for step in update "install -y --no-install-recommends chromium fonts-dejavu-core"; do
	# shellcheck disable=SC2086 # words
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 $step >"$log" 2>&1 || {
		tail -3 "$log" >&2
		give_up "apt-get $step failed"
	}
done
