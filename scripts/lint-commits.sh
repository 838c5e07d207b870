#!/usr/bin/env bash
# usage: lint-commits.sh [REF]
# Checks the commits since REF, or those of the newest 50 that are younger than the rule: a subject
# of at most 72 characters with the package in front, and a body. It looks at what the clone has.
set -euo pipefail
export LC_ALL=C.UTF-8
rule=2026-11-28T23:59:59Z # older commits have what they have

# A container's checkout may belong to another user.
git() { command git -c safe.directory="$PWD" "$@"; }

if ! git rev-parse -q --verify HEAD >/dev/null; then
	echo "no commits are checked: this is no clone" >&2
	exit 0
fi
if [ $# -gt 0 ] && git cat-file -e "$1^{commit}" 2>/dev/null; then
	range=("$1..HEAD")
else
	range=(HEAD -50 "--since=$rule")
fi

bad=0
complain() {
	echo "commit ${commit:0:12}, \"$subject\": $1" >&2
	bad=1
}
for commit in $(git rev-list --no-merges "${range[@]}"); do
	subject=$(git log -1 --format=%s "$commit")
	case $subject in
	'Merge '*) continue ;; # of which a shallow clone has no parents
	esac
	[ ${#subject} -le 72 ] || complain "the subject has ${#subject} characters, and at most 72 may be"
	[[ $subject =~ ^[A-Za-z0-9_./-]+(, [A-Za-z0-9_./-]+)*:\ [^\ ] ]] ||
		complain 'the subject does not begin with the package and a colon, as "queue: a lost create is looked for" does'
	[[ $(git log -1 --format=%b "$commit" | grep -v '^[A-Za-z-]*-by: ') =~ [^[:space:]] ]] || complain 'it has no body that says why'
done
exit $bad
