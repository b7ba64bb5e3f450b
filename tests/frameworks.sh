#!/usr/bin/env bash
# The second part of the tests: what needs packages that the first part does without. Each folder of tests/frameworks has
# the packages in requirements.txt and runs in an environment of its own; arguments name some of the folders.
set -eu
cd "$(dirname "$0")/.."
environments="${DALI_LAB_FRAMEWORKS_ENV:-.venv-frameworks}"
case $environments in /*) ;; *) environments="$PWD/$environments" ;; esac
unset PYTHONDONTWRITEBYTECODE
export SKIP_JUPYTER_BUILDER=1

[ $# -gt 0 ] || set -- $(cd tests/frameworks && ls -d */ | grep -v __pycache__ | tr -d /)
failed=""
for name in "$@"; do
  folder="tests/frameworks/$name"
  environment="$environments/$name"
  if [ ! -e "$environment/ready" ] || [ -n "$(find pyproject.toml constraints.txt "$folder/requirements.txt" -newer "$environment/ready")" ]; then
    rm -rf "$environment"
    "${PYTHON:-python3}" -m venv "$environment"
    "$environment/bin/pip" install --quiet --no-compile -c constraints.txt hatchling editables hatch-jupyter-builder
    "$environment/bin/pip" install --quiet --no-compile -c constraints.txt -r "$folder/requirements.txt"
    "$environment/bin/pip" install --quiet --no-compile -c constraints.txt --no-deps --no-build-isolation -e .
    touch "$environment/ready"
  fi
  echo "== $name"
  PATH="$environment/bin:$PATH" "$environment/bin/python" -m pytest -q --durations=5 "$folder" || failed="$failed $name"
done
[ -z "$failed" ] || { echo "failed:$failed" >&2 && exit 1; }
