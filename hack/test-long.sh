#!/usr/bin/env bash
# Runs all tests with as many random worlds for each property as asked for: test-long.sh CHECKS TIMEOUT
set -euo pipefail
cd "$(dirname "$0")/.."
checks=$1 timeout=$2

# Only the test binaries that hold rapid know its flag.
of_tests='{{range .TestImports}}{{.}} {{end}}{{range .XTestImports}}{{.}} {{end}}'
with=() without=()
while read -r package imports; do
	case " $imports " in
	*' pgregory.net/rapid '*) with+=("$package") ;;
	*) without+=("$package") ;;
	esac
done < <(go list -f "{{.ImportPath}} $of_tests" ./...)

[[ ${#without[@]} == 0 ]] || go test -timeout "$timeout" "${without[@]}"
[[ ${#with[@]} == 0 ]] || go test -timeout "$timeout" "${with[@]}" -rapid.checks="$checks"
