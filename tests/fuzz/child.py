"""The process in which damaged files are read: it says which one it begins, and what came of it.

Lines on its output: ``N`` when file `N` is begun; ``! N TEXT`` for an error that is not the package's, ``? N TEXT`` for
one that a library raised and the package named; ``= JSON`` with the figures at the end.
"""

from __future__ import annotations

import collections
import json
import os
import random
import re
import resource
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

from dali_lab.model.errors import DaliLabError
from tests.fuzz.formats import damaged
from tests.fuzz.structures import structured
from tests.fuzz.targets import TARGETS, Parts

MOST_MEMORY = 2 << 30
_EXTREME = [0, 1, 127, 128, 255, 1 << 15, (1 << 16) - 1, 1 << 31, (1 << 31) - 1, (1 << 32) - 1, 1 << 62, (1 << 63) - 1,
            (1 << 63) - 51, 1 << 63, (1 << 64) - 1]  # fmt: skip
STRUCTURED = float(os.environ.get("FUZZ_STRUCTURED", "0.4"))
_NUMBER = re.compile(rb"-?\d+(\.\d+)?")


def mutated(parts: Parts, chance: random.Random, others: list[bytes]) -> Parts:
    """Parts one of which is damaged: numbers made extreme, in text or in bytes, or anything else."""
    which = chance.randrange(len(parts))
    content = parts[which]
    structure = structured(content, chance) if chance.random() < STRUCTURED else None
    kind = chance.random()
    if structure is not None:
        content = structure
    elif kind < 0.25 and (found := list(_NUMBER.finditer(content[:100_000]))):
        place = chance.choice(found)
        number = str(chance.choice(_EXTREME) * chance.choice((1, 1, -1))).encode()
        content = content[: place.start()] + chance.choice((number, number, b"1e999")) + content[place.end() :]
    elif kind < 0.5 and content:
        size = chance.choice((1, 2, 4, 8))
        at = min(chance.randrange(len(content)), chance.randrange(len(content)))
        value = (chance.choice(_EXTREME) & ((1 << 8 * size) - 1)).to_bytes(size, chance.choice(("little", "big")))
        content = content[:at] + value + content[at + size :]
    else:
        content = damaged(content, chance, others)
    return (*parts[:which], content, *parts[which + 1 :])


def main(name: str, first: int, count: int) -> None:
    """Read so many damaged files of a target."""
    warnings.simplefilter("ignore")
    output = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        target = TARGETS[name](Path(folder))
        others = [part for parts in target.files for part in parts]
        for parts in target.files:
            target.read(parts)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MOST_MEMORY, used + MOST_MEMORY))
        found: collections.Counter[str] = collections.Counter()
        for number in range(first, first + count):
            os.write(output, b"%d\n" % number)
            chance = random.Random(f"{name} {number}")
            parts = mutated(chance.choice(target.files), chance, others)
            try:
                target.read(parts)
                found["read"] += 1
            except DaliLabError as error:
                cause = error.__cause__
                named = cause is not None and not isinstance(cause, DaliLabError)
                wrapped = named and type(cause).__name__ in error.message and not isinstance(cause, MemoryError)
                if not wrapped:
                    found["refused"] += 1
                else:
                    os.write(output, f"? {number} {error.message[:200]!r}\n".encode())
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                text = f"{type(error).__name__}: {str(error)[:200]} at {place.filename}:{place.lineno}"
                os.write(output, f"! {number} {text!r}\n".encode(errors="replace"))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        os.write(output, f"= {json.dumps({**found, 'MiB': peak})}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    os._exit(0)
