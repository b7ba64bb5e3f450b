"""Runs the tests of a checkout of NVIDIA DALI in both engines, and writes the table of ``RESULTS.md``.

``python -m tests.nvidia CHECKOUT --data DALI_EXTRA`` runs everything; names of files or folders after it run a part.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.nvidia import table

ENGINES = ("nvidia", "dali_lab")
PRIVATE = ("autograph/", "type_annotations/")
"""Folders whose tests are about NVIDIA DALI's private modules."""

Results = dict[str, dict[str, str]]


def _memory(process: int) -> int:
    """Bytes of main memory that a process holds."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def _once(
    command: list[str], selection: dict[str, Any], options: argparse.Namespace, results: Results, until: float
) -> str | None:
    """Run a child until it ends or passes a limit, and fill `results`; returns the case that ended it."""
    reading, writing = os.pipe()
    with subprocess.Popen(
        [*command, str(writing)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(writing,),
        start_new_session=True,
        # Some lists of parameters have the order of a set of texts.
        env={**os.environ, "PYTHONHASHSEED": "0", **({"DALI_EXTRA_PATH": str(options.data)} if options.data else {})},
    ) as child:
        os.close(writing)
        assert child.stdin is not None
        child.stdin.write(json.dumps(selection).encode())
        child.stdin.close()
        running, kept, why, last = "import", b"", "", time.monotonic()
        while True:
            if select.select([reading], [], [], 0.5)[0]:
                data = os.read(reading, 65536)
                if not data:
                    break
                last = time.monotonic()
                *lines, kept = (kept + data).split(b"\n")
                for line in map(json.loads, lines):
                    if "begin" in line:
                        running = line["begin"]
                    elif "case" in line:
                        results[line["case"]] = {"status": line["status"], "error": line["error"]}
                        running = ""
                    else:
                        running = "the end"
            elif time.monotonic() - last > options.limit:
                why = f"no end after {options.limit} s"
            elif _memory(child.pid) > options.memory * 2**30:
                why = f"more than {options.memory} GiB of memory"
            if time.monotonic() > until:
                running = "the end"
                break
            if why:
                break
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        status = child.wait()
    if running == "the end" or not running:
        return None
    results[running] = {"status": "failed", "error": why or f"the process ended with status {status}"}
    return running


def run_file(engine: str, file: str, options: argparse.Namespace, only: list[str] | None) -> Results:
    """Each case of a file with its status and error; a case that ends the process costs no other its turn."""
    results: Results = {}
    until = time.monotonic() + options.file_limit
    command = [sys.executable, "-m", "tests.nvidia.child", engine, str(options.tests), file, str(options.cases)]
    while True:
        selection: dict[str, Any] = {"skip": list(results), **({} if only is None else {"only": only})}
        if _once(command, selection, options, results, until) in (None, "import"):
            return results


def _both(file: str, options: argparse.Namespace) -> None:
    """Run a file in both engines as far as results are missing, and keep them."""
    place = options.out / (file.replace("/", "--") + ".json")
    known: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    if "nvidia" not in known or options.again == "both":
        known["nvidia"] = run_file("nvidia", file, options, None)
    applicable = [name for name, result in known["nvidia"].items() if result["status"] == "passed"]
    chosen = applicable if options.again != "failures" else _not_passed(known, applicable)
    if ("dali_lab" not in known or options.again) and chosen != ["import"] and options.engine != "nvidia":
        known.setdefault("dali_lab", {}).update(run_file("dali_lab", file, options, chosen))
    place.write_text(json.dumps(known, indent=1))
    sys.stdout.write(table.row(file, known) + "\n")
    sys.stdout.flush()


def _not_passed(known: dict[str, Any], applicable: list[str]) -> list[str]:
    ours = known.get("dali_lab", {})
    return [name for name in applicable if ours.get(name, {}).get("status") != "passed"]


def main() -> None:
    """Run files, print a line for each, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.nvidia", description=__doc__)
    parser.add_argument("checkout", type=Path, help="a checkout of NVIDIA DALI")
    parser.add_argument("files", nargs="*", help="parts of paths below dali/test/python; all of them by default")
    parser.add_argument("--data", type=Path, help="a checkout of NVIDIA's DALI_extra")
    parser.add_argument("--out", type=Path, default=Path(".nvidia-results"), help="folder that keeps what was found")
    parser.add_argument("--cases", type=int, default=5, help="cases of a function with several; 0 for all")
    parser.add_argument("--limit", type=float, default=90, help="seconds for a case")
    parser.add_argument(
        "--file-limit", type=float, default=1800, help="seconds for a file; what is left is not counted"
    )
    parser.add_argument("--memory", type=float, default=6, help="GiB for a process")
    parser.add_argument("--workers", type=int, default=1, help="files at a time")
    parser.add_argument("--engine", choices=ENGINES, help="nvidia: only ask NVIDIA DALI")
    parser.add_argument(
        "--again", nargs="?", const="dali_lab", choices=("dali_lab", "failures", "both"), help="run anew"
    )
    parser.add_argument("--table", type=Path, help="write the table of all results to this file")
    options = parser.parse_intermixed_args()
    options.tests = (options.checkout / "dali/test/python").resolve()
    options.data = options.data and options.data.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    paths = sorted(str(path.relative_to(options.tests)) for path in options.tests.rglob("test_*.py"))
    chosen = [
        path
        for path in paths
        if not path.startswith(PRIVATE) and (not options.files or any(part in path for part in options.files))
    ]
    with ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(lambda file: _both(file, options), chosen))
    if options.table:
        table.write(options.table, options.out)


if __name__ == "__main__":
    main()
