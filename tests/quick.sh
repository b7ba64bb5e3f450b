#!/usr/bin/env bash
# A quick round, in less than a minute once mypy has its cache: the linters for what is changed, the tests of what
# everything stands on, one case of each operator beside NVIDIA DALI, and test files that are changed. Arguments are
# pytest's: `bash tests/quick.sh tests/unit/readers` runs those tests too.
set -eu
cd "$(dirname "$0")/.."
. tests/environment.sh
said="$(mktemp -d)"
trap 'rm -rf "$said"' EXIT
ruff check .
ruff format --check .
mypy >"$said/mypy" 2>&1 &
mypy=$!
changed() { git diff --name-only --diff-filter=d HEAD -- "$@" && git ls-files --others --exclude-standard -- "$@"; }

failed=""
if [ -n "$(changed extension)" ]; then
  (cd extension && jlpm lint && jlpm format:check && jlpm vitest run --changed) || failed="extension"
fi
DALI_LAB_CASES=1 pytest -q -n 2 --dist loadgroup tests/conformance/test_operators.py \
  tests/unit/{graph,batch,expressions,schema} tests/unit/test_{changelog,imports,ops,pickling}.py \
  tests/unit/operators/test_bad_input.py tests/unit/random/test_{seeds,streams}.py \
  tests/unit/pipeline/test_{pipeline,conditionals}.py tests/unit/formats/test_json_file.py \
  $(changed 'tests/**/test_*.py') "$@" || failed="$failed pytest"
wait "$mypy" || { failed="$failed mypy" && cat "$said/mypy"; }
[ -z "$failed" ] || { echo "failed: $failed" >&2 && exit 1; }
