"""``dali-lab index``: index files for archives of samples and for record files."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from typing import IO

from dali_lab.cli.options import Commands, add_command, written

_ENDINGS = (".tar", ".tfrecord", ".tfrecords")


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "index", "write index files for tar archives (WebDataset) and TFRecord files")
    parser.add_argument("files", metavar="FILE", nargs="+", help="archives or record files")
    parser.add_argument(
        "--output", "-o", type=written, metavar="INDEX", help="the index of a single file; by default NAME.idx"
    )
    parser.add_argument("--kind", choices=("webdataset", "tfrecord"), help="what the files are, where they do not tell")
    parser.set_defaults(function=_index)


def _index(options: argparse.Namespace) -> int:
    from dali_lab.io.files import open_file
    from dali_lab.io.locations import is_remote
    from dali_lab.model.errors import FormatError

    if options.output is not None and len(options.files) > 1:
        raise FormatError(f"--output is for the index of one file, and there are {len(options.files)}")
    for path in options.files:
        if is_remote(path) and options.output is None:
            raise FormatError("stores are not written to: say where the index goes, by --output", source=path)
        target = options.output or _beside(path)
        with open_file(path) as content:
            try:
                text = "".join(f"{line}\n" for line in _lines(content, options.kind))
            except ValueError as error:
                raise FormatError(str(error), source=path) from error
        with open(target, "w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            file.write(text)
        print(f"{path}: {target}", file=sys.stderr)
    return 0


def _beside(path: str) -> str:
    base, ending = os.path.splitext(path)
    return f"{base if ending.lower() in _ENDINGS else path}.idx"


def _lines(content: IO[bytes], kind: str | None) -> Iterable[str]:
    from dali_lab.operators.readers.archives import index as archive_index
    from dali_lab.operators.readers.records import index as record_index

    if kind is None:
        kind = "tfrecord" if record_index.are_records(content.read(12)) else "webdataset"
    if kind == "webdataset":
        return archive_index.lines(archive_index.of_archive(content))
    return (f"{at} {length}" for at, length in record_index.of_records(content))
