"""Compiles every kernel for every type and architecture: ``python -m tests.gpu.compile_all [--jobs N] [NAME …]``.

The tests try each type with some architecture only; this takes some ten minutes of an idle core. Types of one kernel
are compiled together, as entry points behind one text, so that it is read once; what comes of each is told apart in the
compiler's words, and is kept in the folder of compiled kernels by text, architecture and version: a run that was
interrupted goes on, and a run after a change compiles what has changed. ``--fresh`` compiles all of it.

It prints what does not compile, spills, or needs more registers than the tests allow, and returns 1 if there is any;
with ``--keep`` the outcome is written to ``tests/benchmarks/results/compile.md``.
"""

# ruff: noqa: T201 (what it prints is what it is for)
from __future__ import annotations

import argparse
import datetime
import itertools
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from dali_lab.kernels.cuda import cache, nvrtc
from dali_lab.kernels.cuda.host import CompileError
from dali_lab.kernels.cuda.kernel import Kernel, Variant, all_kernels

RESULT = Path(__file__).parents[1] / "benchmarks" / "results" / "compile.md"
ARRAYS = "Arrays are those of CUDA's own sine, cosine and tangent, in the way that very large arguments take."
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
REGISTERS = 128
"""Registers of a thread with which 512 threads still fit on a multiprocessor."""
TOGETHER = 16
OPTIONS = ("--ptxas-options=-v",)

Job = tuple[str, tuple[tuple[str | int | bool, ...], ...], str]
"""A kernel's name, some of its types, and an architecture."""

_ENTRY = re.compile(r"Compiling entry function 'entry(\d+)'(.*?)Used (\d+) registers", re.DOTALL)


def check(variant: Variant, architecture: str) -> int:
    """Compile a kernel for an architecture; its registers."""
    made = nvrtc.compile_text(variant.device_source(), architecture, variant.label, ("--ptxas-options=-v",))
    assert made.code
    assert made.spills == 0, f"{variant.label} spills {made.spills} bytes on {architecture}"
    assert 0 < made.registers <= REGISTERS, f"{variant.label} needs {made.registers} registers on {architecture}"
    return made.registers


@dataclass(frozen=True)
class Outcome:
    """The result of compiling a variant.

    Attributes
    ----------
    label
        The variant and the architecture.
    registers, spilt, stack
        Registers of a thread, bytes that did not fit into them, and bytes of arrays that are in memory.
    error
        What the compiler said, if it does not compile.
    """

    label: str
    registers: int = 0
    spilt: int = 0
    stack: int = 0
    error: str = ""

    @property
    def complaint(self) -> str:
        """The problem, as text; empty if there is none."""
        if self.error:
            return f"{self.label}: {self.error}"
        if self.spilt or self.registers > REGISTERS or not self.registers:
            return f"{self.label}: {self.registers} registers, {self.spilt} bytes spilt"
        return ""


def variants(kernel: Kernel) -> Iterator[Variant]:
    """A kernel for all combinations of its types."""
    for types in itertools.product(*kernel.types):
        yield kernel.variant(*types)


def jobs(names: Sequence[str], architectures: Sequence[str]) -> list[Job]:
    """All that is to be compiled, in pieces that are compiled together."""
    chosen = [kernel for kernel in all_kernels() if not names or kernel.name in names]
    found: list[Job] = []
    for kernel in chosen:
        types = [variant.types for variant in variants(kernel)]
        pieces = [tuple(types[start : start + TOGETHER]) for start in range(0, len(types), TOGETHER)]
        found += [(kernel.name, piece, architecture) for piece in pieces for architecture in architectures]
    return found


def together(chosen: Sequence[Variant]) -> str:
    """The text of variants whose kernels are in one file, with an entry point for each."""
    return "\n".join([chosen[0].source, *(variant.entry(f"entry{k}") for k, variant in enumerate(chosen)), ""])


def compile_together(chosen: Sequence[Variant], architecture: str) -> list[Outcome]:
    """Result for each of the variants, which are of one file.

    Raises
    ------
    CompileError
        If one of them does not compile.
    """
    log = nvrtc.compile_text(together(chosen), architecture, chosen[0].kernel.name, OPTIONS).log
    found = {int(number): (words, int(registers)) for number, words, registers in _ENTRY.findall(log)}
    return [
        Outcome(
            f"{variant.label} {architecture}",
            found[k][1],
            sum(map(int, re.findall(r"(\d+) bytes spill", found[k][0]))),
            sum(map(int, re.findall(r"(\d+) bytes stack", found[k][0]))),
        )
        for k, variant in enumerate(chosen)
    ]


def compile_job(job: Job, fresh: bool = False) -> tuple[list[Outcome], bool]:
    """Result for each variant of a job, and whether it was cached."""
    name, types, architecture = job
    kernel = next(kernel for kernel in all_kernels() if kernel.name == name)
    chosen = [kernel.variant(*each) for each in types]
    place = cache.place(".outcomes", together(chosen), architecture, nvrtc.version(), *nvrtc.OPTIONS, *OPTIONS)
    if place.exists() and not fresh:
        return [Outcome(**kept) for kept in json.loads(place.read_text())], True
    try:
        outcomes = compile_together(chosen, architecture)
    except CompileError as error:
        if len(chosen) > 1:  # which of them it is
            alone = [compile_job((name, (each,), architecture), fresh) for each in types]
            return [outcome for found, _ in alone for outcome in found], False
        outcomes = [Outcome(f"{chosen[0].label} {architecture}", error=str(error))]
    cache.store(place, json.dumps([asdict(outcome) for outcome in outcomes]).encode())
    return outcomes, False


def report(outcomes: Sequence[Outcome], architectures: Sequence[str], known: int, minutes: float) -> str:
    """The outcome in a few sentences."""
    wrong = [outcome for outcome in outcomes if outcome.complaint]
    most = max(outcomes, key=lambda outcome: outcome.registers)
    stacks = Counter(outcome.label.split("<")[0] for outcome in outcomes if outcome.stack)
    kept = f" ({', '.join(f'{name} {count}' for name, count in stacks.items())})" if stacks else ""
    found = f"{len(outcomes)} compilations for {', '.join(architectures)} by NVRTC {nvrtc.version()}"
    again = f", {known} of them known from a run before, with the same text" if known else ""
    return (
        f"{found}{again}, in {minutes:.1f} minutes. {len(wrong)} failed, spilt or needed more than {REGISTERS}"
        f" registers. Most registers: {most.registers} ({most.label}); {stacks.total()} keep an array in memory{kept}."
    )


def main() -> int:
    """Compile all, and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="kernels; all if none is given")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--architectures", nargs="*", default=ARCHITECTURES)
    parser.add_argument("--fresh", action="store_true", help="take no outcome of a run before")
    parser.add_argument("--keep", action="store_true", help=f"write the outcome to {RESULT.name}")
    arguments = parser.parse_args()
    architectures = list(arguments.architectures)
    wanted = jobs(arguments.names, architectures)
    began = time.perf_counter()
    outcomes: list[Outcome] = []
    known = 0
    with ProcessPoolExecutor(arguments.jobs) as pool:
        each = itertools.repeat(arguments.fresh)
        made = pool.map(compile_job, wanted, each) if arguments.jobs > 1 else map(compile_job, wanted, each)
        for number, (found, before) in enumerate(made, 1):
            outcomes += found
            known += len(found) * before
            for complaint in filter(None, (outcome.complaint for outcome in found)):
                print(complaint, flush=True)
            if number % 50 == 0:
                print(f"{number} of {len(wanted)}", file=sys.stderr, flush=True)
    words = report(outcomes, architectures, known, (time.perf_counter() - began) / 60)
    print(words)
    if arguments.keep:
        today = datetime.datetime.now(datetime.UTC).date()
        parts = (
            "# Every kernel for every GPU",
            f"{today}: {words}",
            ARRAYS,
            "`python -m tests.gpu.compile_all --keep`",
        )
        RESULT.write_text("\n\n".join(parts) + "\n")
    return int(any(outcome.complaint for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
