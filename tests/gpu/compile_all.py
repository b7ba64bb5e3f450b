"""Compiles every kernel for every type and architecture: ``python -m tests.gpu.compile_all [--jobs N] [NAME …]``.

The tests try each type with some architecture only; this takes some 20 minutes of an idle core. It prints what does not
compile, spills, or needs more registers than the tests allow, and returns 1 if there is any.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from dali_lab.kernels.cuda import nvrtc
from dali_lab.kernels.cuda.host import CompileError
from dali_lab.kernels.cuda.kernel import Kernel, Variant, all_kernels
from tests.gpu.test_compile import ARCHITECTURES, REGISTERS

Job = tuple[str, tuple[str | int | bool, ...], str]


def variants(kernel: Kernel) -> Iterator[Variant]:
    """A kernel for all combinations of its types."""
    for types in itertools.product(*kernel.types):
        yield kernel.variant(*types)


def jobs(names: list[str], architectures: list[str]) -> list[Job]:
    """Kernel, types and architecture of all that is to be compiled."""
    chosen = [kernel for kernel in all_kernels() if not names or kernel.name in names]
    return [(k.name, v.types, a) for k in chosen for v in variants(k) for a in architectures]


def compile_one(job: Job) -> tuple[str, int]:
    """What is wrong with a job, or an empty string; and the registers it needs."""
    name, types, architecture = job
    kernel = next(kernel for kernel in all_kernels() if kernel.name == name)
    variant = kernel.variant(*types)
    try:
        made = nvrtc.compile_text(variant.device_source(), architecture, variant.label, ("--ptxas-options=-v",))
    except CompileError as error:
        return f"{variant.label} {architecture}: {error}", 0
    if made.spills or made.registers > REGISTERS:
        return f"{variant.label} {architecture}: {made.registers} registers, {made.spills} bytes spilt", made.registers
    return "", made.registers


def main() -> int:
    """Compile all, and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="kernels; all if none is given")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--architectures", nargs="*", default=ARCHITECTURES)
    arguments = parser.parse_args()
    wanted = jobs(arguments.names, list(arguments.architectures))
    began, cpu = time.perf_counter(), time.process_time()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        found = pool.map(compile_one, wanted, chunksize=8) if arguments.jobs > 1 else map(compile_one, wanted)
        most, wrong = 0, 0
        for number, (complaint, registers) in enumerate(found, 1):
            most = max(most, registers)
            if complaint:
                wrong += 1
                print(complaint, flush=True)  # noqa: T201
            if number % 250 == 0:
                print(f"{number} of {len(wanted)}", file=sys.stderr, flush=True)  # noqa: T201
    minutes = (time.perf_counter() - began) / 60
    print(  # noqa: T201
        f"NVRTC {nvrtc.version()}: {len(wanted)} compiled in {minutes:.1f} min ({(time.process_time() - cpu) / 60:.1f}"
        f" min of CPU in this process), at most {most} registers, {wrong} with something wrong"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
