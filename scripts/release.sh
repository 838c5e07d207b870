#!/usr/bin/env bash
# Makes the commit and the tags of a release, in a clone, and proves there that all
# modules can be had by version. With --tag the tags are then brought into this
# repository, for pushing; without it nothing is left.
#
# On the main branch the modules below the root refer to it by a replace line, with
# which "go install ...@version" refuses to work and their own users get nowhere. The
# commit of a release, which is not merged, refers to it by version instead.
set -euo pipefail
cd "$(dirname "$0")/.."

core=github.com/zklock/zklock
libraries=(zklockprom zklockotel zklockgocron zklockcertmagic zklockkrb)
modules=(cmd/zklock "${libraries[@]}") # nobody requires test and bench

tag=
if [ "${1:-}" = --tag ]; then
	tag=1
	shift
fi
version=${1:-}
if ! [[ $version =~ ^v[01]\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]]; then
	echo "usage: release.sh [--tag] VERSION, such as v0.1.0, not \"$version\"" >&2
	exit 64
fi
if [ -n "$tag" ] && ! git grep -qF "## [${version#v}]" HEAD -- CHANGELOG.md; then
	echo "release.sh: CHANGELOG.md, as committed, has no section [${version#v}]: see CONTRIBUTING.md, Releasing" >&2
	exit 1
fi
for results in docs/results/*.md; do
	of=$(grep -om1 'commit [0-9a-f]\{7,\}' "$results" | cut -d' ' -f2)
	git diff --quiet "$of" HEAD -- '*.go' 2>/dev/null ||
		echo "release.sh: $results is of commit $of, and the code has changed since: make results" >&2
done

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
tree=$temporary/tree
proxy=$temporary/proxy
git clone -q . "$tree"

# What Go fetches: ours from the clone, the others from the cache if they are there.
cache=$(go env GOMODCACHE)/cache/download
GOPROXY=file://$proxy,file://$cache,$(go env GOPROXY)
GONOSUMDB=$core,$core/*,$(go env GONOSUMDB)
export GOPROXY GONOSUMDB GOWORK=off GOFLAGS="-modcacherw -buildvcs=false" GOMODCACHE=$temporary/cache GOBIN=$temporary/bin

# publish MODULE puts the clone's module in that directory where Go finds it.
publish() {
	local path=$core${1:+/$1} commit=HEAD:$1 own=()
	if [ -z "$1" ]; then
		commit=HEAD
		mapfile -t own < <(git -C "$tree" ls-files '*/go.mod' | sed 's|\(.*\)/go.mod|:!\1|')
	fi
	local dir=$proxy/$path/@v
	mkdir -p "$dir"
	echo "{\"Version\":\"$version\"}" >"$dir/$version.info"
	echo "$version" >"$dir/list"
	git -C "$tree" show "HEAD:${1:+$1/}go.mod" >"$dir/$version.mod"
	git -C "$tree" archive --format=zip --prefix="$path@$version/" -o "$dir/$version.zip" "$commit" -- . "${own[@]}"
}

publish ""
for module in "${modules[@]}"; do
	(
		cd "$tree/$module"
		go mod edit -dropreplace="$core" -require="$core@$version"
		go mod tidy
	)
done
git -C "$tree" commit -qam "release $version"
for module in "${modules[@]}"; do
	publish "$module"
done

echo "go install $core/cmd/zklock@$version"
(cd "$temporary" && go install "$core/cmd/zklock@$version")
"$GOBIN/zklock" --version
echo "the command for each platform"
scripts/binaries.sh "$version" "$temporary/dist"

mkdir "$temporary/user"
cd "$temporary/user"
go mod init example.com/user 2>/dev/null
{
	printf 'package user\n\nimport (\n'
	printf "\t_ \"$core/%s\"\n" membership "${libraries[@]}"
	printf ')\n'
} >user.go
echo "go get $core and its ${libraries[*]} at $version"
libraries=("${libraries[@]/#/$core/}")
go get "$core@$version" "${libraries[@]/%/@$version}"
go build .
cd - >/dev/null

if [ -n "$tag" ]; then
	for name in "$version" "${modules[@]/%//$version}"; do
		git -C "$tree" tag "$name"
		git fetch -q --no-tags "$tree" "refs/tags/$name:refs/tags/$name"
	done
	echo "tagged; push with: git push origin $version ${modules[*]/%//$version}"
fi
