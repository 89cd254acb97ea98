#!/usr/bin/env bash
# Proves that the linters hold the walls between packages: puts each import and call of hack/walls.txt
# into a scratch module with this repository's linter settings, and compares what is denied with what should be.
set -euo pipefail
cd "$(dirname "$0")/.."

lint=$(go tool -n -modfile=tools/go.mod golangci-lint)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Imports need no resolving, so they stand apart from calls, which do.
for kind in imports calls; do
	mkdir "$scratch/$kind"
	cp .golangci.yml "$scratch/$kind/"
	printf 'module github.com/ebb-io/ebb\n\ngo 1.26.0\n' >"$scratch/$kind/go.mod"
done

n=0
while read -r verdict folder what; do
	case $verdict in '' | '#'*) continue ;; esac
	n=$((n + 1))
	kind=imports
	body="import _ \"$what\""
	if [[ ${what##*/} =~ \.[A-Z] ]]; then
		kind=calls
		body="import \"${what%.*}\"; var _ = $what"
	fi
	folder=$folder/wall$n # a package of its own: no import cycles
	file=$folder/wall.go
	mkdir -p "$scratch/$kind/$folder"
	printf 'package p\n\n%s\n' "$body" >"$scratch/$kind/$file"
	echo "$verdict $file $what" >>"$scratch/cases"
done <hack/walls.txt

denied() { # KIND LINTER: the files that the linter complains about
	(cd "$scratch/$1" && "$lint" run --enable-only "$2" --issues-exit-code 0 --show-stats=false \
		--output.text.print-issued-lines=false --output.text.path stdout ./...)
}
{
	denied imports depguard
	denied calls forbidigo
} >"$scratch/issues"

wrong=0
while read -r verdict file what; do
	said=allow
	if grep -q "^$file:" "$scratch/issues"; then said=deny; fi
	if [[ $said != "$verdict" ]]; then
		echo "walls: ${file%/*} and $what: the linters $said it, hack/walls.txt says $verdict" >&2
		wrong=$((wrong + 1))
	fi
done <"$scratch/cases"
[[ $wrong == 0 ]] || exit 1
echo "walls: $n cases hold"
