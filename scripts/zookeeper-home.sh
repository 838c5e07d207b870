#!/usr/bin/env bash
# usage: zookeeper-home.sh SUITE [DIRECTORY]
# Makes a directory for ZOOKEEPER_HOME from the packages of another Debian suite (trixie, sid, ...),
# and prints its path. Installs nothing. A directory that is there already is left as it is.
set -euo pipefail

suite=${1:?usage: zookeeper-home.sh SUITE [DIRECTORY]}
home=$(realpath -m "${2:-${XDG_CACHE_HOME:-$HOME/.cache}/zklock/zookeeper-$suite}")
if compgen -G "$home/lib/zookeeper-[0-9]*.jar" >/dev/null; then
	echo "$home"
	exit 0
fi

# What the server needs, by package. Other bindings of slf4j and logback would be in its way.
packages=(
	libzookeeper-java libcommons-cli-java libcommons-io-java libdropwizard-metrics-java
	libfindbugs-annotations-java libguava-java libjackson2-annotations-java libjackson2-core-java
	libjackson2-databind-java libjetty9-java libjetty9-extra-java libnetty-java libnetty-buffer-java
	libnetty-common-java libslf4j-java libsnappy-java libservlet-api-java
)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$(dirname "$0")/debian-packages.sh" "$suite" "$work/tree" "${packages[@]}"

# Manifests name the jars of the installed version by absolute paths, which would be loaded first.
mkdir -p "$work/home/lib"
for jar in "$work"/tree/usr/share/java/*-[0-9]*.jar; do
	case $(basename "$jar") in
	slf4j-api-* | slf4j-simple-*) ;;
	*slf4j* | jcl-* | jul-* | *logback*) continue ;;
	esac
	cp -L "$jar" "$work/home/lib/"
done
python3 - "$work/home/lib" <<'PYTHON'
import os, re, sys, zipfile
for name in sorted(os.listdir(sys.argv[1])):
    path = os.path.join(sys.argv[1], name)
    with zipfile.ZipFile(path) as jar:
        if "META-INF/MANIFEST.MF" not in jar.namelist():
            continue
        manifest = jar.read("META-INF/MANIFEST.MF")
        without = re.sub(rb"(?m)^Class-Path:.*\r?\n(?: .*\r?\n)*", b"", manifest)
        if without == manifest:
            continue
        with zipfile.ZipFile(path + ".new", "w", zipfile.ZIP_DEFLATED) as new:
            for entry in jar.infolist():
                new.writestr(entry, without if entry.filename == "META-INF/MANIFEST.MF" else jar.read(entry))
    os.replace(path + ".new", path)
PYTHON
mkdir -p "$(dirname "$home")"
mv -T "$work/home" "$home"
echo "$home"
