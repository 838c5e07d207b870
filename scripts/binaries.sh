#!/usr/bin/env bash
# Builds the command at VERSION for each platform into DIRECTORY, an archive each, with
# their SHA-256 sums. What is built is what "go install -trimpath ...@VERSION" builds, so
# that anybody can build the same bytes with the same Go.
set -euo pipefail

version=${1:?usage: binaries.sh VERSION DIRECTORY}
directory=${2:?usage: binaries.sh VERSION DIRECTORY}
command=github.com/zklock/zklock/cmd/zklock
platforms=(linux/amd64 linux/arm64 linux/386 darwin/amd64 darwin/arm64 freebsd/amd64)

mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
GOMODCACHE=$(go env GOMODCACHE)
GOPATH=$(mktemp -d)
trap 'rm -rf "$GOPATH"' EXIT
unset GOBIN # with which Go refuses to install for another platform
export GOPATH GOMODCACHE GOWORK=off CGO_ENABLED=0

for platform in "${platforms[@]}"; do
	GOOS=${platform%/*} GOARCH=${platform#*/} go install -trimpath "$command@$version"
	binary=$(find "$GOPATH/bin" -name zklock)
	name=zklock_${version}_${platform/\//_}.tar.gz
	tar -C "$(dirname "$binary")" --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - zklock | gzip -n >"$directory/$name"
	rm -rf "$GOPATH/bin"
done
cd "$directory"
sha256sum zklock_*.tar.gz | tee SHA256SUMS
