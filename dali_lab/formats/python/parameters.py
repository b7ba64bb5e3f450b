"""Constants at the top of a program for those who change it: where data lie, the batch size, the seed."""

from __future__ import annotations

from typing import Any

from dali_lab.formats.paths import BESIDE
from dali_lab.formats.python.layout import Piece, call, free, lines, listing, number, quoted
from dali_lab.graph.graph import Graph, Node
from dali_lab.schema.arguments import Arg
from dali_lab.schema.registry import find_operator

_NAMES = {"file_root": "ROOT"}
_SAMPLES = "  # the gallery's samples: name a folder of yours"
RESERVED = ("BATCH_SIZE", "SEED")


class Parameters:
    """The constants of a program.

    Parameters
    ----------
    graph
        A finished graph.
    here
        Whether paths that begin with ``./`` start at the folder of the program.
    taken
        Names in use; those of the constants are added.
    """

    def __init__(self, graph: Graph, *, here: bool = False, taken: set[str] | None = None) -> None:
        taken = set() if taken is None else taken
        taken.update(RESERVED)
        self.here = here
        self.paths: dict[str, str] = {}
        for node in graph.nodes.values():
            operator = find_operator(node.op)
            for name, value in node.arguments.items() if operator.source else ():
                arg = operator.argument_table.get(name)
                if arg is not None and arg.is_path and isinstance(value, str) and value and value not in self.paths:
                    self.paths[value] = free(_NAMES.get(name, name.upper().strip("_")), taken)
        self._batch_size = graph.pipeline.get("batch_size") or 1
        self._seed = graph.pipeline.get("seed")

    def argument(self, value: Any, arg: Arg) -> Piece | None:
        """An argument that is a constant of the program, or starts at its folder; `None` where it is as it stands."""
        if not arg.is_path:
            return None
        if isinstance(value, str):
            return self.paths.get(value) or (self.path(value) if self._starts_here(value) else None)
        if isinstance(value, (tuple, list)) and any(
            isinstance(item, str) and self._starts_here(item) for item in value
        ):
            return listing(self.path(item) for item in value)
        return None

    def _starts_here(self, path: object) -> bool:
        return self.here and isinstance(path, str) and path.startswith(BESIDE)

    def path(self, path: str) -> Piece:
        """A path as Python."""
        if not self._starts_here(path):
            return quoted(path)
        folder = call("os.path.dirname", [("", "__file__")])
        rest = path.removeprefix(BESIDE)
        return call("os.path.join", [("", folder), ("", quoted(rest))]) if rest else folder

    def lines(self, *, batch_size: bool = True) -> list[str]:
        """The assignments."""
        result = [
            line
            for path, name in self.paths.items()
            for line in lines(f"{name} = ", self.path(path), _SAMPLES if path.startswith("$") else "")
        ]
        if batch_size:
            result.append(f"BATCH_SIZE = {number(self._batch_size)}")
        seeded = isinstance(self._seed, int) and self._seed >= 0
        note = "" if seeded else "  # a new one for each run"
        return [*result, f"SEED = {self._seed if self._seed is not None else None}{note}"]


def folder_parameters(graph: Graph, reader: Node | None, *, here: bool) -> list[str]:
    """The constants of a program that reads one folder of pictures by other means than DALI's.

    Its folder is that of `reader`; without one it is to be filled in.
    """
    root = None if reader is None else reader.arguments.get("file_root")
    parameters = Parameters(graph, here=here)
    known = isinstance(root, str) and bool(root)
    note = "  # a folder with a folder of pictures for each class"
    if known:
        note = _SAMPLES if str(root).startswith("$") else ""
    piece = parameters.path(root) if isinstance(root, str) and root else quoted("pictures")
    seed = graph.pipeline.get("seed")
    whole = seed if isinstance(seed, int) and seed >= 0 else 0
    size = number(graph.pipeline.get("batch_size") or 1)
    head = lines("ROOT = ", piece, note)
    return [*head, f"BATCH_SIZE = {size}", f"SEED = {whole}"]
