"""Placement of nodes that ask for a GPU: on a device, or on the CPU where there is none."""

from __future__ import annotations

import functools
import os
import warnings

from dali_lab.device.interface import Device
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.model.errors import DeviceError, GraphError
from dali_lab.model.user_code import user_stacklevel
from dali_lab.schema.registry import find_operator

_NAMED = 12
"""Most nodes that a warning names; augmentation policies have hundreds."""


def gpu_nodes(graph: Graph) -> list[str]:
    """Names of the nodes that are placed on a GPU, with their placement."""
    return [f"{name} ({node.device})" for name, node in graph.nodes.items() if node.device in ("gpu", "mixed")]


def output_on_gpu(graph: Graph, edge: Edge) -> bool:
    """Whether an output of the graph is wanted on the GPU."""
    return (edge.device or graph.nodes[edge.node].device) != "cpu"


@functools.lru_cache(maxsize=16)
def emulated_device(index: int) -> Device:
    """The emulated device with this number."""
    from dali_lab.device.emulated import EmulatedDevice

    # Under a memory checker each sample has its own memory, so that overruns are seen.
    return EmulatedDevice(index, exact=os.environ.get("DALI_LAB_SANITIZE") == "1")


def find_device(mode: str, index: int = 0) -> Device:
    """The device with this number.

    Parameters
    ----------
    mode
        ``"emulated"`` for the emulated device, else a GPU.

    Raises
    ------
    DeviceError
        With the cause and a remedy.
    """
    if mode == "emulated":
        return emulated_device(index)
    from dali_lab.device.cuda import cuda_device

    return cuda_device(index)


def gpu_available(index: int = 0) -> bool:
    """Whether the GPU with this number exists and can be used."""
    try:
        find_device("auto", index)
    except DeviceError:
        return False
    return True


@functools.lru_cache(maxsize=16)
def _device_if_any(mode: str, index: int) -> Device | None:
    try:
        return find_device(mode, index)
    except DeviceError:
        return None


def device_for_preview(graph: Graph) -> Device | None:
    """Device for nodes placed on a GPU, chosen as pipelines do by default; `None`, without a warning, for the CPU."""
    mode = os.environ.get("DALI_LAB_GPU") or "auto"
    if mode == "never" or not gpu_nodes(graph):
        return None
    return _device_if_any(mode, int(graph.pipeline.get("device_id") or 0))


def choose_device(graph: Graph, mode: str, index: int = 0) -> Device | None:
    """Device for the nodes of a graph placed on a GPU; `None` for the CPU, with one warning.

    Parameters
    ----------
    mode
        ``"auto"``, ``"require"``, ``"never"`` or ``"emulated"``.
    index
        Number of the device.

    Raises
    ------
    GraphError
        With ``"require"``, if the device cannot be used, or an operator has no version for it.
    """
    placed = gpu_nodes(graph)
    moved = [str(edge) for edge in graph.outputs if edge.device == "gpu"]
    if not (placed or moved) or mode == "never":
        return None
    try:
        device = find_device(mode, index)
    except DeviceError as error:
        wanting = [*placed, *(f"output {name}" for name in moved)]
        if mode == "require":
            names = ", ".join(wanting)
            raise GraphError(
                f"The pipeline requires a CUDA-capable GPU but {error}; these nodes are placed on it: {names}"
            ) from error
        names = ", ".join(wanting[:_NAMED]) + (f" and {len(wanting) - _NAMED} more" if len(wanting) > _NAMED else "")
        warnings.warn(
            f"{error}, so these nodes run on the CPU: {names}. Set DALI_LAB_GPU=require to make this an error.",
            UserWarning,
            stacklevel=user_stacklevel(),
        )
        return None
    without = [
        f"{name} ({node.op}: {why})"
        for name, node in graph.nodes.items()
        if node.device in ("gpu", "mixed") and (why := cpu_only(node, device))
    ]
    if without:
        what = f"these nodes are placed on a GPU and do not run there: {', '.join(without)}"
        if mode == "require":
            raise GraphError(f"{what}; place them on the CPU (device='cpu'), after .cpu() and before .gpu()")
        warnings.warn(
            f"{what}. They run on the CPU, and their batches are copied there and back.", stacklevel=user_stacklevel()
        )
    return device


def cpu_only(node: Node, device: Device) -> str:
    """Why a node placed on a GPU runs on the CPU; empty for a source, or where it runs on the device."""
    operator = find_operator(node.op)
    if operator.source:
        return ""
    if node.device == "mixed" and operator.on_gpu and not device.decodes:
        return "nvImageCodec cannot decode on the GPU here; pip install nvidia-nvimgcodec-cu13[all]"
    return operator.on_cpu_only(node.arguments)
