#!/usr/bin/env bash
# Builds the documentation into docs/_build/html, without a network: pip install -e ".[docs]" before it.
# Arguments are Sphinx's. A warning is an error.
set -eu
cd "$(dirname "$0")/.."
exec "${PYTHON:-python}" -m sphinx -W --keep-going -n -q "$@" docs docs/_build/html
