#!/usr/bin/env bash
# Installs what zklock is measured beside, from Debian's packages: Curator with a
# Java compiler, kazoo, etcd and Redis. Does nothing if all are there. Where it
# cannot install them, the benchmark says whom it skips.
set -euo pipefail

missing=()
need() { # need PACKAGE FILE...: any of the files will do
	local package=$1 file
	shift
	for file; do
		if [ -e "$file" ]; then return; fi
	done
	missing+=("$package")
}
need default-jdk-headless "${JAVA_HOME:-/usr}/bin/javac"
need libcurator-recipes-java /usr/share/java/curator-recipes.jar
need python3-kazoo /usr/lib/python3/dist-packages/kazoo
need etcd-server /usr/bin/etcd /usr/local/bin/etcd
need redis-server /usr/bin/redis-server /usr/local/bin/redis-server

if [ ${#missing[@]} -eq 0 ]; then
	exit 0
fi

without() {
	echo "Benchmarks go without ${missing[*]}: $1." >&2
	exit 0
}

command -v apt-get >/dev/null || without "no apt-get"
sudo=()
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || without "neither root nor sudo"
	sudo=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {
	# RUNLEVEL keeps the packages from starting servers: the benchmark starts its own.
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 "$@" >"$log" 2>&1 || {
		cat "$log" >&2
		without "\"$*\" failed"
	}
}

echo "Installing ${missing[*]} ..." >&2
# Images without manual pages lack this directory, and Java's packages fail there.
quietly mkdir -p /usr/share/man/man1
quietly apt-get -q -o Acquire::Retries=3 update
quietly apt-get -q -o Acquire::Retries=3 install -y --no-install-recommends "${missing[@]}"
