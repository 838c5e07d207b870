#!/usr/bin/env bash
# Installs what zklock is tested with and measured beside, from Debian's packages:
# Curator with a Java compiler, kazoo, etcd, Redis, promtool and a Kerberos KDC. Does nothing if all are there.
# Where it cannot install them, the tests and the benchmark say what they skip.
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
need prometheus /usr/bin/promtool /usr/local/bin/promtool
need krb5-kdc /usr/sbin/krb5kdc
need krb5-admin-server /usr/sbin/kadmin.local
need redis-server /usr/bin/redis-server /usr/local/bin/redis-server

if [ ${#missing[@]} -eq 0 ]; then
	exit 0
fi

without() { # without WHY PACKAGE...
	echo "Tests and benchmarks go without ${*:2}: $1." >&2
}

command -v apt-get >/dev/null || {
	without "no apt-get" "${missing[@]}"
	exit 0
}
sudo=()
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		without "neither root nor sudo" "${missing[@]}"
		exit 0
	}
	sudo=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {
	# RUNLEVEL keeps the packages from starting servers: the benchmark starts its own.
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 "$@" >"$log" 2>&1
}
install() { quietly apt-get -q -o Acquire::Retries=3 install -y --no-install-recommends "$@"; }

echo "Installing ${missing[*]} ..." >&2
# Images without manual pages lack this directory, and Java's packages fail there.
quietly mkdir -p /usr/share/man/man1 || true
quietly apt-get -q -o Acquire::Retries=3 update || cat "$log" >&2
install "${missing[@]}" && exit 0
# One that cannot be had does not keep the others out.
for package in "${missing[@]}"; do
	install "$package" || {
		tail -n 5 "$log" >&2
		without "it cannot be installed" "$package"
	}
done
