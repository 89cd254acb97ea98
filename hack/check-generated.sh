#!/usr/bin/env bash
# Fails if `go generate` would change a file. Works on a tree with other changes too: it compares before and after.
set -euo pipefail
cd "$(dirname "$0")/.."

git grep --untracked -q '^//go:generate' -- '*.go' || exit 0 # nothing is generated

state() { git ls-files -z --cached --others --exclude-standard | xargs -0 -r sha256sum 2>/dev/null || true; }
before=$(state)
go generate ./...
if ! diff <(echo "$before") <(state); then
	echo "generated files were out of date: commit what go generate wrote" >&2
	exit 1
fi
