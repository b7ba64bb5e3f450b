"""Python programs: read without running them, or traced in a process of their own, and written."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from dali_lab.formats.disk import PathLike
from dali_lab.formats.exported import left_out, left_out_of_dali
from dali_lab.formats.registry import Arguments, Format, register
from dali_lab.graph.graph import Graph
from dali_lab.model.errors import FormatError


def detect(data: bytes, name: str) -> bool:
    """Whether a file is called like a program, or its content is one or was meant to be."""
    from dali_lab.formats.python.programs import decoded, looks_like_python

    if name.endswith(".py"):
        return True
    try:
        return looks_like_python(decoded(data))
    except FormatError:
        return False


def loads(data: bytes, name: str | None = None, arguments: Arguments | None = None, file: PathLike = "") -> Graph:
    """The graph of a pipeline in a program, which is not run."""
    from dali_lab.formats.python.programs import decoded
    from dali_lab.formats.python.reader import read

    return read(decoded(data), name, arguments, file)


def dumps(graph: Graph, dialect: Literal["dali_lab", "nvidia.dali"] = "dali_lab", **options: Any) -> str:
    """A program."""
    from dali_lab.formats.python import writer

    return writer.dumps(graph, dialect, **options)


def lost(graph: Graph) -> list[str]:
    """Nodes that no output needs, settings without a place in a program, and where nodes lie."""
    from dali_lab.formats.python.writer import settings_without_place

    result = left_out(graph)
    if settings := settings_without_place(graph):
        result.append(f"settings that programs do not take are left out: {', '.join(settings)}")
    if graph.view.get("nodes") or graph.view.get("groups"):
        result.append("positions and groups of nodes are not in a program")
    return result


register(
    Format("python", "a Python program for DALI Lab", (".py",), dumps, loads, detect, lost, program=True),
    Format(
        "nvidia-python",
        "a Python program for NVIDIA DALI",
        (".nvidia.py",),
        partial(dumps, dialect="nvidia.dali"),
        lost=left_out_of_dali,
        program=True,
    ),
    Format(
        "pytorch",
        "a Python program for DALI Lab that iterates over PyTorch tensors",
        (".torch.py",),
        partial(dumps, main="pytorch"),
        lost=left_out,
        program=True,
    ),
    Format(
        "ray",
        "a Python program whose batches a Ray cluster computes",
        (".ray.py",),
        partial(dumps, main="ray"),
        lost=left_out,
        program=True,
    ),
)
