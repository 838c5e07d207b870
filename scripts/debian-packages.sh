#!/usr/bin/env bash
# usage: debian-packages.sh SUITE DIRECTORY PACKAGE...
# Downloads packages of another Debian suite (trixie, sid, ...) and unpacks them below DIRECTORY. Installs
# nothing. A package that the suite does not have is left out.
set -euo pipefail

usage='usage: debian-packages.sh SUITE DIRECTORY PACKAGE...'
suite=${1:?$usage} directory=$(realpath -m "${2:?$usage}")
shift 2
command -v apt-get >/dev/null || {
	echo "debian-packages.sh: no apt-get" >&2
	exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial,debs} "$directory"
: >"$work/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$work/sources.list"
cat >"$work/apt.conf" <<-END
	Dir::Etc::sourcelist "$work/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::State::lists "$work/lists";
	Dir::State::status "$work/status";
	Dir::Cache "$work/cache";
	APT::Sandbox::User "";
	Acquire::Retries "3";
END
export APT_CONFIG=$work/apt.conf
quietly() {
	"$@" >"$work/log" 2>&1 || {
		tail -n 20 "$work/log" >&2
		exit 1
	}
}
quietly apt-get -q update
known=()
for package; do
	if apt-cache show "$package" >/dev/null 2>&1; then known+=("$package"); fi
done
(cd "$work/debs" && quietly apt-get -q download "${known[@]}")
for deb in "$work"/debs/*.deb; do
	dpkg -x "$deb" "$directory"
done
