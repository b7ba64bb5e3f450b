"""Graphs from and to files of any kind, which their endings tell."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

from dali_lab.errors import FormatError
from dali_lab.formats.files import read_bytes, write_bytes, write_text
from dali_lab.graph.graph import Graph

_READERS = {".json": "json_file", ".py": "python_code", ".dali": "dali_proto", ".pb": "dali_proto", ".png": "png"}
_WRITERS = {
    ".json": "json_file",
    ".py": "python_code",
    ".dali": "dali_proto",
    ".pb": "dali_proto",
    ".dot": "dot",
    ".gv": "dot",
}
_PICTURES = (".svg", ".png", ".pdf")


def load(path: str) -> Graph:
    """Read the graph in a file.

    Raises
    ------
    FormatError
        If the ending tells no kind that can be read here, or the file is not what it should be.
    """
    module = _module(path, _READERS, "read")
    if Path(path).suffix.lower() == ".py":
        try:
            graph: Graph = module.loads(read_bytes(path).decode("utf-8"))
        except UnicodeDecodeError as error:
            raise FormatError(f"{path}: this is no text in UTF-8") from error
    else:
        graph = module.load(path)
    return graph


def dump(graph: Graph, path: str) -> None:
    """Write a graph to a file.

    Raises
    ------
    FormatError
        If the ending tells no kind that can be written here.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".svg":
        from dali_lab.formats.drawing import svg

        write_text(path, svg(graph))
    elif suffix in _PICTURES:
        from dali_lab.formats import dot

        write_bytes(path, dot.picture(graph, suffix[1:]))  # type: ignore[arg-type]
    else:
        _module(path, _WRITERS, "written").dump(graph, path)


def _module(path: str, table: dict[str, str], what: str) -> Any:
    suffix = Path(path).suffix.lower()
    name = f"dali_lab.formats.{table[suffix]}" if suffix in table else ""
    if not name or importlib.util.find_spec(name) is None:
        known = ", ".join(
            ending for ending, module in table.items() if importlib.util.find_spec(f"dali_lab.formats.{module}")
        )
        raise FormatError(f"{path}: a graph cannot be {what} as '{suffix or Path(path).name}'; there are {known}")
    return importlib.import_module(name)
