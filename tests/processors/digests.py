"""Writes digests of operators' cases, and compares those of two processors.

``python -m tests.processors.digests NAME … > here.txt`` runs the declared cases of operators (or of families, or those
whose names begin like ``random.``) and writes a line for each case: digests of its inputs and of its results. With
``--first N`` an operator runs its first N cases; a reader reads a small dataset in random order.
``--compare here.txt there.txt`` says what differs.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

import dali_lab
from dali_lab.schema import all_operators
from tests.conformance.harness import declared, describe, expanded, run
from tests.unit.readers import datasets

DATASETS = datasets.ALL.keys() - {"video"}
"""Datasets of readers whose files are the same on all processors: an encoder makes videos."""


def digest(arrays: Iterable[np.ndarray]) -> str:
    """A short digest of arrays with their types and shapes; all NaN are the same."""
    found = hashlib.sha256()
    for array in arrays:
        array = np.array(array)
        if array.dtype.kind == "f":
            array[np.isnan(array)] = np.nan
        found.update(f"{array.dtype} {array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()[:16]


def named(patterns: list[str]) -> list[str]:
    """Operators of names, of families, or of names that begin in some way."""
    return [
        name
        for pattern in patterns
        for name, operator in all_operators().items()
        if name == pattern or operator.family == pattern or (pattern.endswith(".") and name.startswith(pattern))
    ]


def lines(operators: list[str], first: int) -> Iterator[str]:
    """``operator-index-case``, digest of the inputs, and digest of the results, or the error."""
    for name in operators:
        if name.removeprefix("readers.") in DATASETS:
            yield reading(name)
        for index, case in enumerate(declared(name)[:first]):
            inputs = digest(array for arrays, _ in expanded(case.inputs, case.batch_size) for array in arrays)
            try:
                rows = run(dali_lab, name, case, batches=case.batches)
                results = digest(array for row in rows for output in row for array in output["samples"])
            except Exception as error:  # what a case raises is its result
                results = f"{type(error).__name__}: {error}".splitlines()[0]
            yield "\t".join((f"{name}-{index}-{describe(case)}".replace("\t", " "), inputs, results))


def reading(name: str, batches: int = 3) -> str:
    """The line of a reader: digests of the files' contents and of shuffled batches over more than an epoch."""
    contents = datasets.pictures(10)
    with tempfile.TemporaryDirectory() as folder:
        dataset = datasets.ALL[name.removeprefix("readers.")](Path(folder), contents)
        pipeline = dali_lab.Pipeline(batch_size=4, num_threads=2, device_id=None, seed=3)
        with pipeline:
            pipeline.set_outputs(dataset.read(random_shuffle=True, initial_fill=4))
        read = [np.array(sample) for _ in range(batches) for sample in pipeline.run()[0]]
    inputs = digest(np.frombuffer(content, np.uint8) for content in contents)
    return f"{name}-dataset\t{inputs}\t{digest(read)}"


def compare(here: Path, there: Path) -> int:
    """Print what differs and how many cases are the same; the number that differ."""
    tables = [dict(line.split("\t", 1) for line in path.read_text("utf-8").splitlines()) for path in (here, there)]
    common = tables[0].keys() & tables[1].keys()
    differing = [name for name in tables[0] if name in common and tables[0][name] != tables[1][name]]
    for name in differing:
        (inputs, results), (other_inputs, other_results) = (table[name].split("\t") for table in tables)
        what = f"{results} and {other_results}" if inputs == other_inputs else "the inputs differ"
        sys.stdout.write(f"{name}: {what}\n")
    sys.stdout.write(f"{len(common) - len(differing)} of {len(common)} cases are the same\n")
    return len(differing)


def main() -> int:
    """Run the command that the module's text describes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--first", type=int)
    parser.add_argument("--compare", nargs=2, type=Path)
    options = parser.parse_args()
    if options.compare:
        return min(compare(*options.compare), 1)
    for line in lines(named(options.names), options.first):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
