#!/usr/bin/env bash
# Runs every fuzz target of the repository, one after the other, for the time given: fuzz.sh 30s
set -euo pipefail
cd "$(dirname "$0")/.."
time=$1

git grep --untracked -hno '^func Fuzz' -- '*_test.go' >/dev/null || {
	echo "fuzz: no targets"
	exit 0
}
while IFS=: read -r file line; do
	target=${line#func }
	echo "fuzz: ./$(dirname "$file") $target for $time"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "./$(dirname "$file")"
done < <(git grep --untracked -o '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go')
