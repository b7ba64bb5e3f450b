#!/usr/bin/env bash
# All that is to be run where there is a GPU for a short time: tests in parts, then the benchmark. See README.md.
#
#   bash tests/gpu/on_a_gpu.sh RESULTS [PART …]
#
# RESULTS   folder for logs, JUnit files and the benchmark's table
# PART      look, cases, memory, benchmark; all of them in this order if none is given
#
# WHEELS=FOLDER installs the wheels in a folder first, into a folder of its own and without a network.
# JOBS=N    processes that run cases (8)
# LIMIT=S   seconds for each part (540)
set -u
cd "$(dirname "$0")/../.."
results=${1:?name a folder for the results}
shift
parts=("$@")
[ ${#parts[@]} -eq 0 ] && parts=(look cases memory benchmark)
mkdir -p "$results"
results=$(realpath "$results")
python=$(command -v python3 || command -v python)
limit=${LIMIT:-540}
failed=0

if [ -n "${WHEELS:-}" ]; then
    site=$(mktemp -d)
    "$python" -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --target "$site" "$WHEELS"/*.whl || exit 1
    export PYTHONPATH="$site${PYTHONPATH:+:$PYTHONPATH}"
fi
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
export DALI_LAB_KERNELS=${DALI_LAB_KERNELS:-${TMPDIR:-/tmp}/dali-lab-kernels}

# Without pytest-xdist the cases run one after the other.
jobs=()
"$python" -c "import xdist" 2> /dev/null && jobs=(-n "${JOBS:-8}")

run() {  # name, command…
    local name=$1 began=$SECONDS
    shift
    timeout "$limit" "$@" 2>&1 | tee "$results/$name.log" | tail -n 25
    local status=${PIPESTATUS[0]}
    echo "== $name: status $status after $((SECONDS - began)) s" | tee -a "$results/summary.txt"
    [ "$status" -eq 0 ] || failed=1
    return "$status"
}

tests() {  # name, pytest's arguments…
    local name=$1
    shift
    run "$name" "$python" -m pytest -q -m gpu -p no:cacheprovider --junitxml="$results/$name.xml" "$@"
}

for part in "${parts[@]}"; do
    case $part in
        look)
            run look "$python" -m tests.gpu.look
            [ $? -eq 2 ] && exit 2 # no GPU can be used: nothing else is worth the time
            ;;
        # Several processes compile kernels into one folder, which the parts after this one use.
        cases) tests cases "${jobs[@]}" tests/gpu/test_device.py ;;
        # Alone on the GPU: it takes nearly all memory for a moment.
        memory) tests memory tests/gpu/test_device_memory.py ;;
        benchmark) run benchmark "$python" -m tests.benchmarks.gpu --seconds 4 --rounds 3 --threads "${THREADS:-14}" ;;
        *) echo "there is no part '$part'" && failed=1 ;;
    esac
done
exit $failed
