"""Fuzzing: ``python -m tests.fuzz [TARGET …] [--count N] [--first N] [--seconds S]``; prints lines of RESULTS.md."""

from __future__ import annotations

import argparse
import datetime
import sys

from tests.fuzz.running import run
from tests.fuzz.targets import TARGETS

FAILURES = ("undeclared", "signal", "hang")


def say(text: str) -> None:
    """Write a line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """As the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(":", maxsplit=1)[0])
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], help="by default all")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first file; a failure is repeated by it")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of each target")
    options = parser.parse_args()
    failed = False
    for name in options.targets or TARGETS:
        found = run(name, options.count, options.first, say, options.seconds)
        total = sum(count for key, count in found.items() if key != "MiB")
        failed |= any(found[key] for key in FAILURES)
        columns = [datetime.date.today().isoformat(), name, total, found["read"], found["refused"], found["wrapped"]]
        say(f"| {' | '.join(map(str, [*columns, *(found[key] for key in FAILURES), found['MiB']]))} |")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
