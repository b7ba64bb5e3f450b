"""Coverage-guided fuzzing, where atheris is installed: ``python -m tests.fuzz.guided TARGET CORPUS [OPTIONS]``.

`CORPUS` is a folder that keeps the files that reach new lines; it begins with the good files of the target. The options
are those of libFuzzer, such as ``-runs=100000 -rss_limit_mb=2048 -timeout=20``. Only an error that is not the package's
ends it. Compiled code is not guided: it pays for formats that are read in Python (graphs, checkpoints, messages, coco,
nemo, fits, npy, archives).
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

_COMPILED = ["dali_lab.kernels"]
"""Numba cannot compile what is instrumented."""

with atheris.instrument_imports(include=["dali_lab"], exclude=_COMPILED):
    from dali_lab.model.errors import DaliLabError
    from tests.fuzz.targets import TARGETS

_BETWEEN = b"\0\xff--\xff\0"
"""Between the parts of a file of the corpus."""


def main(name: str, corpus: Path, options: list[str]) -> None:
    """Read files of a target until an error is not the package's."""
    warnings.simplefilter("ignore")
    corpus.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        with atheris.instrument_imports(include=["dali_lab"], exclude=_COMPILED):
            target = TARGETS[name](Path(folder))
            for parts in target.files:
                target.read(parts)
                content = _BETWEEN.join(parts)
                (corpus / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)
        count = len(target.files[0])

        def read(data: bytes) -> None:
            parts = data.split(_BETWEEN, count - 1)
            with contextlib.suppress(DaliLabError):
                target.read((*parts, *[b""] * (count - len(parts))))

        atheris.Setup([sys.argv[0], *options, str(corpus)], read)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
