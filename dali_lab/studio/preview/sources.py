"""Sources between previews: readers that stay open, their draws, and the state of their files, to notice changes."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dali_lab.executor.plan import make_operator
from dali_lab.executor.sources.opening import open_source
from dali_lab.graph.graph import Node
from dali_lab.model.batch import Batch
from dali_lab.operators.readers.list_reader import ListSource
from dali_lab.schema.operator import Operator
from dali_lab.schema.source import Draw, Source
from dali_lab.studio.preview.results import Token

MOST_SOURCES = 16
MOST_DRAWS = 64
MOST_PINS = 4096
_FOLDERS_LOOKED_AT = 2000
_FILES_LOOKED_AT = 64


@dataclass
class _Source:
    operator: Operator
    source: Source
    draws: OrderedDict[int, Draw] = field(default_factory=OrderedDict)
    counts: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Pins:
    """Chosen samples that make up the batch of a preview.

    Attributes
    ----------
    places
        Their places in the list of each reader that has `size` samples.
    size
        Samples of the reader that they were chosen from; others are left alone.
    """

    places: tuple[int, ...]
    size: int


def pins_of(places: Sequence[int] | None, size: int) -> Pins | None:
    """The samples that a preview asks for, each once, without places that a list of `size` samples does not have."""
    given = tuple(dict.fromkeys(place for place in (places or ())[:MOST_PINS] if 0 <= place < size))
    return Pins(given, size) if given else None


class Sources:
    """Readers that stay open between previews, and their draws for each batch."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, _Source] = OrderedDict()

    def draw(
        self,
        key: str,
        node: Node,
        seeds: Mapping[str, int],
        iteration: int,
        batch_size: int,
        token: Token | None = None,
    ) -> tuple[Operator, Draw]:
        """The operator of a source and its decision for a batch; the same for each call.

        Raises
        ------
        Cancelled
            If the token was used.
        StopIteration
            If the source ends before this batch.
        """
        entry = self._open.get(key)
        if entry is None or (iteration not in entry.draws and iteration < len(entry.counts)):
            self._drop(key)
            operator = make_operator(node)
            entry = self._open[key] = _Source(operator, open_source(operator, seeds.get(node.id, -1)))
        self._open.move_to_end(key)
        try:
            while len(entry.counts) <= iteration:
                if token is not None:
                    token.check()
                draw = entry.source.draw(batch_size)
                entry.draws[len(entry.counts)] = draw
                entry.counts.append(draw.count)
                while len(entry.draws) > MOST_DRAWS:
                    entry.draws.popitem(last=False)
        except BaseException:
            self._drop(key)
            raise
        while len(self._open) > MOST_SOURCES:
            self._drop(next(iter(self._open)))
        return entry.operator, entry.draws[iteration]

    def pinned(
        self, key: str, node: Node, seeds: Mapping[str, int], pins: Pins, batch_size: int
    ) -> tuple[Operator, Draw] | None:
        """The operator of a source and a batch of chosen samples; `None` where it has no list of as many samples."""
        operator, _ = self.draw(key, node, seeds, 0, batch_size)
        source = self._open[key].source
        if not isinstance(source, ListSource) or source.meta()["epoch_size"] != pins.size:
            return None
        return operator, source.chosen(np.array(pins.places, np.int64), batch_size)

    def samples_before(self, key: str, iteration: int, batch_size: int) -> int | None:
        """Samples in the batches before this one, if they were drawn."""
        if iteration == 0:
            return 0
        entry = self._open.get(key)
        if entry is None or len(entry.counts) < iteration:
            return None
        return sum(entry.counts[:iteration])

    def close(self) -> None:
        """Close all readers."""
        for key in list(self._open):
            self._drop(key)

    def _drop(self, key: str) -> None:
        entry = self._open.pop(key, None)
        if entry is not None:
            entry.source.close()
            entry.operator.close()


def digest(*parts: object) -> str:
    """A digest of values whose text shows all of their content."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def values(node: Node) -> list[tuple[str, Any]]:
    """A node's arguments in a form that can be digested."""
    return sorted((name, _plain(value)) for name, value in node.arguments.items() if name not in ("name", "preserve"))


def _plain(value: Any) -> Any:
    """The value as one whose text shows all of its content."""
    if hasattr(value, "tobytes") and hasattr(value, "shape"):
        return str(value.dtype), value.shape, hashlib.blake2b(value.tobytes(), digest_size=16).hexdigest()
    if isinstance(value, (list, tuple)):
        return tuple(map(_plain, value))
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return repr(value), id(value)


def file_state(path: str) -> tuple[str, int, int]:
    """A path with its file's modification time and size; −1 where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return path, 0, -1
    return path, found.st_mtime_ns, found.st_size


def paths_state(node: Node) -> list[tuple[str, int, int]]:
    """State of the folders and lists that a source's arguments name."""
    states = []
    given = (value if isinstance(value, tuple) else (value,) for value in node.arguments.values())
    for value in itertools.chain.from_iterable(items[:_FILES_LOOKED_AT] for items in given):
        if not isinstance(value, str) or not value or not os.path.exists(value):
            continue
        states.append(file_state(value))
        if os.path.isdir(value):
            states.extend(map(file_state, _folders_in(value)))
    return states


def _folders_in(folder: str) -> list[str]:
    """The first folders in a folder; none where it cannot be listed, of which its reader tells."""
    try:
        with os.scandir(folder) as entries:
            return sorted(
                entry.path for _, entry in zip(range(_FOLDERS_LOOKED_AT), entries, strict=False) if entry.is_dir()
            )
    except OSError:
        return []


def sample_files_state(
    node: Node, outputs: Iterable[Batch | None], errors: Iterable[BaseException]
) -> tuple[tuple[str, int, int], ...]:
    """State of the files that a source's samples came from, those that could not be read included."""
    root = node.arguments.get("file_root")
    if root is None and isinstance(node.arguments.get("file_list"), str):
        root = os.path.dirname(node.arguments["file_list"])
    base = root if isinstance(root, str) else ""
    paths: dict[str, None] = {}
    for batch in outputs:
        for path in (batch.sources if batch is not None else None) or ():
            paths[path] = None
    for error in errors:
        source = getattr(error, "source", None)
        if source:
            paths[source] = None
    return tuple(file_state(os.path.join(base, path)) for path in paths)
