#!/usr/bin/env bash
# usage: run.sh [go-zookeeper|kazoo]
# Runs the test suites of go-zookeeper 1.0.4 (by the Go module proxy) and of Debian sid's kazoo (made for 2.11.0) against
# zktest over TCP, in a temporary directory, and compares what fails with expected-failures.txt. It takes three minutes.
set -euo pipefail

here=$(realpath "$(dirname "$0")")
root=$(realpath "$here/../../..")
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export GOWORK=off ZK_VERSION=3.9.6 ZOOKEEPER_VERSION=3.9.6

go_zookeeper() {
	cd "$work"
	cp -r "$(go -C "$root" list -m -f '{{.Dir}}' github.com/go-zookeeper/zk)" go-zookeeper
	chmod -R u+w go-zookeeper
	cd go-zookeeper
	rm server_help_test.go server_java_test.go
	cp "$here/go_zookeeper_on_zktest.go.txt" zktest_test.go
	go mod edit -go 1.25 -require github.com/zklock/zklock@v0.0.0 -replace "github.com/zklock/zklock=$root"
	go mod tidy 2>/dev/null
	go test -vet off -count 1 -timeout 10m -v . >"$work/log" 2>&1 || true
	sed -n 's/^--- FAIL: \([^ ]*\) .*/go-zookeeper \1/p' "$work/log" >"$work/failed"
	echo "go-zookeeper: $(grep -c '^--- PASS' "$work/log") pass, $(wc -l <"$work/failed") fail, $(grep -c '^--- SKIP' "$work/log" || true) skipped"
}

kazoo() {
	"$root/scripts/debian-packages.sh" sid "$work/python" python3-kazoo python3-objgraph python3-graphviz \
		python3-pytest python3-pluggy python3-iniconfig python3-packaging python3-pygments
	local packages=$work/python/usr/lib/python3/dist-packages
	grep -q '"2.11.0"' "$packages/kazoo/version.py" || echo "kazoo is $(cat "$packages/kazoo/version.py") by now" >&2
	go -C "$root/test" build -o "$work/zktest" ./zktest/suites
	(cd "$packages/kazoo/tests" && ZKTEST=$work/zktest PYTHONPATH=$packages:$here timeout 10m \
		python3 -m pytest -p kazoo_on_zktest -p no:cacheprovider -q -rfE --tb short . >"$work/log" 2>&1) || true
	sed -nE 's/^(FAILED|ERROR) ([^ ]*).*/kazoo \2/p' "$work/log" >"$work/failed"
	echo "kazoo: $(tail -n 1 "$work/log")"
}

judge() { # judge SUITE
	if ! grep -qE '^--- PASS| passed' "$work/log"; then
		tail -n 30 "$work/log" >&2
		echo "$1 did not run" >&2
		return 1
	fi
	awk -v suite="$1" '$1 == suite { print $1, $2 }' "$here/expected-failures.txt" | sort >"$work/expected"
	awk -v suite="$1?" '$1 == suite { print $2 }' "$here/expected-failures.txt" >"$work/sometimes"
	grep -vFf "$work/sometimes" "$work/failed" | sort -u -o "$work/failed" || true
	diff "$work/expected" "$work/failed" >"$work/diff" && return 0
	echo "Expected (<) and seen (>) failures of $1:" >&2
	cat "$work/diff" >&2
	return 1
}

[ $# -gt 0 ] || set -- go-zookeeper kazoo
status=0
for suite; do
	"${suite//-/_}"
	judge "$suite" || status=1
done
exit "$status"
