#!/usr/bin/env bash
# Makes an environment with what the tests need, then checks and tests everything; arguments are pytest's.
set -eu
cd "$(dirname "$0")/.."
. tests/environment.sh

# The checks run beside the first tests; what they say is shown at the end.
said="$(mktemp -d)"
trap 'rm -rf "$said"' EXIT
[ -n "${built:-}" ] || (cd extension && jlpm install --immutable && jlpm build:editor)
ruff check .
ruff format --check .
mypy >"$said/mypy" 2>&1 &
mypy=$!
(cd extension && jlpm lint && jlpm format:check && jlpm test) >"$said/extension" 2>&1 &
extension=$!

failed=""
# Both workers collect all tests: what is compiled to bytecode here, they need not compile at the same time.
[ -z "${built:-}" ] || pytest -q --collect-only "$@" >"$said/collected" 2>&1 || true
pytest -n 2 --dist loadgroup --durations=30 "$@" || failed="pytest"
wait "$mypy" || failed="$failed mypy"
wait "$extension" || failed="$failed extension"
tail -n 40 "$said/mypy" "$said/extension"
[ -z "$failed" ] || { echo "failed: $failed" >&2 && exit 1; }
