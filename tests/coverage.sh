#!/usr/bin/env bash
# Which lines and branches of the package the tests run, in their own processes and those that they start. Arguments
# are pytest's: `bash tests/coverage.sh tests/unit/graph` looks at those tests only. A page for each file is in htmlcov.
set -eu
cd "$(dirname "$0")/.."
. tests/environment.sh
# Only here: where it is installed, Numba imports it, in each of the hundreds of processes that the tests start.
pip install --quiet -c constraints.txt coverage
coverage erase
failed=""
coverage run -m pytest -n 2 --dist loadgroup "$@" || failed=yes
coverage combine --quiet
coverage html --quiet
coverage report
[ -z "$failed" ]
