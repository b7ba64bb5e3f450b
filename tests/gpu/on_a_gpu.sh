#!/usr/bin/env bash
# All that is to be run where there is a GPU for a short time: tests in parts, then the benchmark. See README.md.
#
#   bash tests/gpu/on_a_gpu.sh RESULTS [PART …]
#
# RESULTS   folder for logs, JUnit files and the benchmark's table: eight files, summary.txt first
# PART      look, cases, memory, benchmark; all of them in this order if none is given.
#           wheels: only keep the wheels for the next run
#
# WHEELS=FOLDER wheels, or parts of them (tests/gpu/wheels.py); kept in STORE from run to run, put together and
#               installed into a folder of its own without a network, once a part is run that needs them
# JOBS=N        processes that run cases (8)
# LIMIT=S       seconds for each part (540)
# TOTAL=S       seconds for all of it; parts for which nothing is left are named in summary.txt
# DEVICE=emulated  a rehearsal on the emulated device
# LEAST=S       seconds that a part is begun with at least (15)
# SELECT=WORDS  only tests that pytest's -k selects by this
set -u
cd "$(dirname "$0")/../.." || exit 1
results=${1:?name a folder for the results}
shift
parts=("$@")
[ ${#parts[@]} -eq 0 ] && parts=(look cases memory benchmark)
mkdir -p "$results" || exit 1
results=$(realpath "$results")
python=$(command -v python3 || command -v python)
limit=${LIMIT:-540}
total=${TOTAL:-0}
store=${STORE:-${TMPDIR:-/tmp}/dali-lab-wheels}
failed=0

note() { echo "== $*" | tee -a "$results/summary.txt"; }

if [ -n "${WHEELS:-}" ]; then
    mkdir -p "$store" && cp "$WHEELS"/*.whl* "$store"/ || { note "wheels: $WHEELS could not be kept"; exit 1; }
    rm -rf "$store/site"
fi
if [ "${parts[*]}" = wheels ]; then
    note "wheels: $(cd "$store" && echo *.whl*) are kept"
    exit 0
fi
if compgen -G "$store/*.whl*" > /dev/null; then
    if [ ! -e "$store/site/complete" ]; then
        if ! said=$("$python" tests/gpu/wheels.py --install "$store" 2>&1); then
            note "wheels: not installed"
            echo "$said" | tail -n 30 | tee -a "$results/summary.txt"
            exit 1
        fi
    fi
    export PYTHONPATH="$store/site${PYTHONPATH:+:$PYTHONPATH}"
fi
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1 DALI_LAB_GPU_NOTES="$results/lost.log"
export DALI_LAB_KERNELS=${DALI_LAB_KERNELS:-${TMPDIR:-/tmp}/dali-lab-kernels}
export DALI_LAB_TEST_DEVICE=${DEVICE:-require}

# Without pytest-xdist the cases run one after the other; without pytest-timeout a test that hangs takes the whole part.
jobs=()
"$python" -c "import xdist" 2> /dev/null && jobs=(-n "${JOBS:-8}")
patience=()
"$python" -c "import pytest_timeout" 2> /dev/null && patience=(--timeout=150 --timeout-method=thread)

run() {  # name, command…
    local name=$1 began=$SECONDS seconds=$limit
    shift
    if [ "$total" -gt 0 ] && [ $((total - SECONDS)) -lt "$seconds" ]; then seconds=$((total - SECONDS)); fi
    if [ "$seconds" -lt "${LEAST:-15}" ]; then
        note "$name: not run, no time was left"
        failed=1
        return 1
    fi
    # Interrupted, pytest still writes its JUnit file; what does not end by that is killed.
    timeout --signal=INT --kill-after=15 "$seconds" "$@" 2>&1 | tee "$results/$name.log" | tail -n 25
    local status=${PIPESTATUS[0]} words=""
    [ "$status" -eq 124 ] || [ "$status" -eq 137 ] && words=", out of time"
    [ "$status" -eq 5 ] && words=", nothing to run"
    note "$name: status $status after $((SECONDS - began)) s$words"
    [ "$status" -eq 0 ] || failed=1
    return "$status"
}

tests() {  # name, pytest's arguments…
    local name=$1
    shift
    run "$name" "$python" -m pytest -q -m gpu -p no:cacheprovider --junitxml="$results/$name.xml" "${patience[@]}" \
        ${SELECT:+-k "$SELECT"} "$@"
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
        benchmark)
            emulated=()
            [ "$DALI_LAB_TEST_DEVICE" = emulated ] && emulated=(--emulated)
            run benchmark "$python" -m tests.benchmarks.gpu --seconds "${SECONDS_EACH:-4}" --rounds "${ROUNDS:-3}" \
                --threads "${THREADS:-14}" "${emulated[@]}"
            ;;
        *) note "there is no part '$part'" && failed=1 ;;
    esac
done
exit $failed
