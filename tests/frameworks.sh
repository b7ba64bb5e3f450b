#!/usr/bin/env bash
# The second part of the tests: what needs packages that the first part does without. Each folder of tests/frameworks has
# the packages in requirements.txt and runs in an environment of its own, two at a time; arguments name some of the folders.
# Together the environments take 15 GB, so each is removed behind its tests, unless DALI_LAB_FRAMEWORKS_ENV names a folder
# that keeps them for the next time.
set -eu
cd "$(dirname "$0")/.."
environments="${DALI_LAB_FRAMEWORKS_ENV:-.venv-frameworks}"
keep="${DALI_LAB_FRAMEWORKS_ENV:+yes}"
case $environments in /*) ;; *) environments="$PWD/$environments" ;; esac
said="$(mktemp -d)"
trap 'rm -rf "$said"' EXIT
unset PYTHONDONTWRITEBYTECODE
export environments keep said SKIP_JUPYTER_BUILDER=1

test_folder() {
  set -eu
  local folder="tests/frameworks/$1" environment="$environments/$1"
  export PATH="$environment/bin:$PATH"
  if [ ! -e "$environment/ready" ] || [ -n "$(find pyproject.toml constraints.txt "$folder/requirements.txt" -newer "$environment/ready")" ]; then
    rm -rf "$environment"
    "${PYTHON:-python3}" -m venv "$environment"
    pip install --quiet --no-compile -c constraints.txt hatchling editables hatch-jupyter-builder
    pip install --quiet --no-compile -c constraints.txt --no-build-isolation -r "$folder/requirements.txt"
    touch "$environment/ready"
  fi
  [ ! -e "$folder/prepare.sh" ] || bash "$folder/prepare.sh"
  python -m pytest -q -p no:cacheprovider --durations=5 "$folder"
}

run_folder() { # shows what it said in one piece, as another one runs beside it
  bash -c 'test_folder "$1"' _ "$1" >"$said/$1" 2>&1 || touch "$said/$1.failed"
  [ -n "$keep" ] || rm -rf "${environments:?}/$1"
  printf '== %s\n%s\n' "$1" "$(cat "$said/$1")"
}
export -f test_folder run_folder

# The longest ones are the first.
[ $# -gt 0 ] || set -- browser ray $(cd tests/frameworks && ls -d */ | tr -d / | grep -vx -e __pycache__ -e browser -e ray)
printf '%s\n' "$@" | xargs -P 2 -I{} bash -c 'run_folder "$1"' _ {}
failed="$(cd "$said" && ls -- *.failed 2>/dev/null || true)"
[ -z "$failed" ] || { echo "failed: ${failed//.failed/}" >&2 && exit 1; }
