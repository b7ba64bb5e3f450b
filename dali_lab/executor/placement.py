"""Where nodes run when they ask for a GPU and there is none."""

from __future__ import annotations

import functools
import os
import warnings

from dali_lab.errors import GraphError
from dali_lab.graph.graph import Graph


@functools.lru_cache(maxsize=1)
def gpu_available() -> bool:
    """Whether a CUDA device and the library that talks to it are there."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    try:
        import cupy

        return int(cupy.cuda.runtime.getDeviceCount()) > 0
    except (ImportError, RuntimeError):  # CuPy raises a RuntimeError of its own where the driver is missing
        return False


def gpu_nodes(graph: Graph) -> list[str]:
    """Names of the nodes that are placed on a GPU, with their placement."""
    return [f"{name} ({node.device})" for name, node in graph.nodes.items() if node.device in ("gpu", "mixed")]


def check_placement(graph: Graph, mode: str) -> None:
    """Warn once, or refuse, where nodes ask for a GPU that is not there.

    Parameters
    ----------
    mode
        ``"auto"``, ``"require"`` or ``"never"``.

    Raises
    ------
    GraphError
        With ``"require"``.
    """
    placed = gpu_nodes(graph)
    moved = [str(edge) for edge in graph.outputs if edge.device == "gpu"]
    if not (placed or moved) or mode == "never":
        return
    what = ", ".join([*placed, *(f"output {name}" for name in moved)])
    reason = "this release does not use the GPU yet" if gpu_available() else "there is no GPU here"
    if mode == "require":
        raise GraphError(f"a GPU is required, but {reason}; these nodes are placed on it: {what}")
    warnings.warn(
        f"{reason}, so these nodes run on the CPU: {what}. Set DALI_LAB_GPU=require to make this an error.",
        UserWarning,
        stacklevel=5,
    )
