#!/usr/bin/env bash
# Makes sure that this machine can run Apache ZooKeeper, which the tests and the
# demo start on free ports of the loopback interface. Does nothing if it can:
# java in JAVA_HOME or PATH, ZooKeeper in ZOOKEEPER_HOME or from Debian's package.
set -euo pipefail

have_java() { [ -x "${JAVA_HOME:-}/bin/java" ] || command -v java >/dev/null; }
have_zookeeper() { [ -n "${ZOOKEEPER_HOME:-}" ] || [ -e /usr/share/java/zookeeper.jar ]; }

if have_java && have_zookeeper; then
	exit 0
fi

give_up() {
	cat >&2 <<-EOF
		No ZooKeeper on this machine, and it cannot be installed here: $1.

		Install Java and Apache ZooKeeper by hand, unpack a release anywhere, and set
		ZOOKEEPER_HOME to its directory. Without them, "go test ./..." still runs all
		tests that need no real server.
	EOF
	exit 1
}

command -v apt-get >/dev/null || give_up "no apt-get"
sudo=()
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || give_up "neither root nor sudo"
	sudo=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive "$@" >"$log" 2>&1 || {
		cat "$log" >&2
		give_up "\"$*\" failed"
	}
}

echo "Installing Debian's zookeeper package ..." >&2
# Images without manual pages lack this directory, and Java's packages fail there.
quietly mkdir -p /usr/share/man/man1
quietly apt-get -q -o Acquire::Retries=3 update
quietly apt-get -q -o Acquire::Retries=3 install -y --no-install-recommends default-jre-headless zookeeper
