"""Damages graph files of every form and reads them: only ``FormatError`` may come out, and within a second or so.

``python -m tests.fuzz.formats --count 100000`` runs it for long; ``tests/unit/formats/test_fuzz.py`` runs a part of it.
A failure is printed with the seed of its file, and ``--seed N --count 1`` repeats it.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import random
import signal
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from dali_lab.errors import FormatError
from dali_lab.formats import dumps, loads
from dali_lab.formats.dali import checkpoint as dali_checkpoint
from dali_lab.formats.dali import writer as dali_proto
from dali_lab.formats.dali.messages import messages
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.pictures import png
from dali_lab.formats.python import programs
from dali_lab.gallery import load_gallery
from dali_lab.graph.graph import Graph
from dali_lab.graph.verification import problems

SECONDS = 30
"""CPU time for a file: what a busy machine takes from it does not count."""
EMPTY_PICTURE = (
    png.SIGNATURE
    + png._chunk(b"IHDR", bytes([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]))
    + png._chunk(b"IDAT", zlib.compress(b"\0\0"))
    + png._chunk(b"IEND", b"")
)
TOKENS = [
    b"null", b"true", b"-1", b"1e999", b"99999999999999999999", b'""', b"{}", b"[]", b'{"$array": {}}', b"$python",
    b"\0", b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", b"\xed\xa0\x80", b"(" * 60,
    b"[" * 3000, b"def ", b"**", b"<<", b"fn.", b"lambda: ", b"@pipeline_def\n", b"'''", b"\n    ", b"1" * 5000,
    b"9**9**9", b"NaN", b"Infinity", b"$enum", b"\xef\xbb\xbf", b"x" * 3000, b"__class__", b"range(10**9)",
    b'{"$dict": [[[],1]]}', b"10**10*[0]", b"images", b"if images:\n", b" and ", b" or ", b"not ", b" if images else ",
]  # fmt: skip


def graphs() -> Iterator[Graph]:
    """Graphs to begin with: the gallery's, and one with everything that files hold."""
    for entry in load_gallery():
        yield entry.graph


def seeds() -> list[bytes]:
    """Good files of every form."""
    result = []
    for number, graph in enumerate(graphs()):
        for form in ("json", "dali-serialized", "python", "nvidia-python"):
            with contextlib.suppress(FormatError):
                result.append(dumps(graph, form))
        if number % 8 == 0:
            result.append(png.embed(EMPTY_PICTURE, graph))
    return result


def checkpoints() -> list[bytes]:
    """Good checkpoints, as this package and NVIDIA DALI write them."""
    message = messages().Checkpoint()
    message.cpts.add(
        operator_name="numbers", operator_state=b"Philox_0000000083A3E791_0000000000000002:0000000000000000_0"
    )
    message.cpts.add(operator_name="reader", operator_state=b"\n\x10\n\n1223679043\x10\x00\x18\x02")
    message.external_ctx_cpt.pipeline_data = b'{"iter": 1, "epoch_idx": 0}'
    return [message.SerializeToString()]


def damaged(content: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    """A file with some bytes changed, taken away, repeated, or replaced by something from another file."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        place = chance.randrange(len(data) + 1)
        length = chance.choice((0, 1, 1, 2, 4, 20, 200))
        kind = chance.randrange(7)
        if kind == 0:
            data[place : place + length] = chance.randbytes(chance.choice((1, 2, 8)))
        elif kind == 1:
            del data[place : place + length]
        elif kind == 2:
            data[place:place] = data[place : place + length] * chance.choice((1, 2, 50))
        elif kind == 3:
            data[place : place + length] = chance.choice(TOKENS)
        elif kind == 4:
            other = chance.choice(others)
            start = chance.randrange(len(other))
            data[place : place + length] = other[start : start + chance.choice((1, 4, 40, 400))]
        elif kind == 5 and place < len(data):
            data[place] ^= 1 << chance.randrange(8)
        elif kind == 6:
            del data[place:]
            data += b"\n" * chance.randrange(2)
    return bytes(data)


def _late(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"took more than {SECONDS} s of CPU time")


def read(content: bytes) -> Graph:
    """Read a file of any form, and say what is wrong with its graph."""
    graph = loads(content)
    problems(graph)
    return graph


def read_others(content: bytes) -> None:
    """Give a file to the readers that look at content of their own form alone, whatever it is."""
    for reader in (json_file.loads, dali_proto.loads, png.loads):
        with contextlib.suppress(FormatError):
            reader(content)
    with contextlib.suppress(FormatError):
        programs.pipelines(programs.decoded(content))


def restore(content: bytes) -> None:
    """Read a checkpoint."""
    nodes = {
        "numbers": {"op": "random.uniform"},
        "reader": {"op": "readers.file", "arguments": {"file_root": "/"}},
    }
    graph = json_file.from_document({"format": "dali-lab/graph", "version": 1, "nodes": nodes, "outputs": ["numbers"]})
    dali_checkpoint.loads(content, graph, {}, 4)


def run(count: int, first: int = 0, tell: Callable[[str], None] | None = None) -> collections.Counter[str]:
    """Read so many damaged files.

    Returns
    -------
    collections.Counter
        How often each thing came of it: ``"read"``, ``"refused"``, ``"failed"``.
    """
    warnings.simplefilter("ignore")
    files, states = seeds(), checkpoints()
    found: collections.Counter[str] = collections.Counter()
    before: Any = signal.signal(signal.SIGPROF, _late)
    try:
        for number in range(first, first + count):
            chance = random.Random(number)
            content = damaged(chance.choice(files), chance, files)
            state = damaged(chance.choice(states), chance, files)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                for part in (read_others, restore, read):
                    try:
                        part(state if part is restore else content)
                        outcome = "read"
                    except FormatError:
                        outcome = "refused"
                found[outcome] += 1
            except Exception as error:
                found["failed"] += 1
                if tell is not None:
                    tell(f"seed {number}: {type(error).__name__}: {str(error)[:300]}")
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            if tell is not None and (number + 1) % 10_000 == 0:
                tell(f"{number + 1}: {dict(found)}")
    finally:
        signal.signal(signal.SIGPROF, before)
    return found


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """As the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0, help="number of the first file")
    options = parser.parse_args()
    began = time.perf_counter()
    found = run(options.count, options.seed, _say)
    _say(f"{options.count} files in {time.perf_counter() - began:.0f} s: {dict(found)}")
    return 1 if found["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
