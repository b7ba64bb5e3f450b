"""A graph as ``torchvision.transforms.v2`` where every operator has an equivalent; else a list of those without one.

Equivalent means the same operation with the same parameters: pixels may differ in rounding and interpolation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dali_lab.formats.exported import exported
from dali_lab.formats.python.layout import Imports, Piece, call, lines, listing, number, value_piece
from dali_lab.graph.graph import Graph, Node
from dali_lab.model import dtypes
from dali_lab.model.errors import FormatError
from dali_lab.schema.registry import find_operator

_INTERPOLATION = {
    dtypes.INTERP_NN: "NEAREST_EXACT",
    dtypes.INTERP_LINEAR: "BILINEAR",
    dtypes.INTERP_CUBIC: "BICUBIC",
    dtypes.INTERP_LANCZOS3: "LANCZOS",
    dtypes.INTERP_TRIANGULAR: "BILINEAR",
}
_DTYPES = {
    dtypes.UINT8: "uint8", dtypes.INT16: "int16", dtypes.INT32: "int32", dtypes.INT64: "int64",
    dtypes.FLOAT16: "float16",
    dtypes.FLOAT: "float32", dtypes.FLOAT64: "float64", dtypes.BOOL: "bool",
}  # fmt: skip


_CROPPING = ("crop", "crop_w", "crop_h", "crop_pos_x", "crop_pos_y")


class _NoEquivalent(ValueError):
    """Why a node cannot be written."""


@dataclass
class _Context:
    """A node with its arguments and the random nodes connected to them."""

    graph: Graph
    node: Node

    def value(self, name: str) -> Any:
        """A constant argument, or its default."""
        if name in self.node.connections:
            raise _NoEquivalent(f"the argument '{name}' comes from a node")
        arg = find_operator(self.node.op).argument_table[name]
        found = self.node.arguments.get(name)
        return found if found is not None else (None if arg.required else arg.default)

    def given(self, name: str) -> bool:
        """Whether an argument is a constant or connected."""
        return self.node.arguments.get(name) is not None or name in self.node.connections

    def only(self, *names: str) -> None:
        """Refuse all other arguments."""
        ignored = {"name", "preserve", "seed", "bytes_per_sample_hint", *names}
        for name in (*self.node.arguments, *self.node.connections):
            if name not in ignored and self.given(name):
                arg = find_operator(self.node.op).argument_table.get(name)
                if arg is not None and arg.advanced:
                    continue
                raise _NoEquivalent(f"torchvision has no argument like '{name}'")

    def random(self, name: str, op: str) -> Node | None:
        """The random node that gives an argument."""
        edge = self.node.connections.get(name)
        if edge is None:
            return None
        source = self.graph.nodes[edge.node]
        if source.op != op or source.connections:
            raise _NoEquivalent(f"the argument '{name}' comes from {source.op}, where torchvision draws it itself")
        return source

    def uniform(self, name: str, default: float) -> tuple[float, float] | None:
        """The range that an argument is drawn from; a constant is a range of one number."""
        source = self.random(name, "random.uniform")
        if source is None:
            value = self.value(name)
            value = default if value is None else value
            value = value[0] if isinstance(value, tuple) else value
            return (float(value), float(value))
        if source.arguments.get("values") is not None:
            raise _NoEquivalent(f"the argument '{name}' is chosen from a list")
        low, high = source.arguments.get("range", (-1.0, 1.0))
        return (float(low), float(high))


def _interpolation(context: _Context) -> list[tuple[str, Piece]]:
    kind = context.value("interp_type")
    if kind not in _INTERPOLATION:
        raise _NoEquivalent(f"torchvision has no interpolation like {getattr(kind, 'name', kind)}")
    items: list[tuple[str, Piece]] = [("interpolation=", f"v2.InterpolationMode.{_INTERPOLATION[kind]}")]
    if "antialias" in find_operator(context.node.op).argument_table:
        items.append(("antialias=", str(bool(context.value("antialias")))))
    return items


def _size(value: object) -> list[int]:
    items = value if isinstance(value, tuple) else (value,)
    return [int(item) for item in (items * 2 if len(items) == 1 else items)]


def _resize(context: _Context) -> list[Piece]:
    context.only("size", "resize_shorter", "resize_x", "resize_y", "interp_type", "antialias")
    size: Piece
    if context.given("size"):
        size = listing(map(str, _size(context.value("size"))))
    elif context.given("resize_shorter"):
        size = str(int(context.value("resize_shorter")))
    elif context.given("resize_x") and context.given("resize_y"):
        size = listing([str(int(context.value("resize_y"))), str(int(context.value("resize_x")))])
    else:
        raise _NoEquivalent("torchvision resizes to a size, or by the shorter side")
    return [call("v2.Resize", [("", size), *_interpolation(context)])]


def _flips(context: _Context, name: str, transform: str) -> list[Piece]:
    source = context.random(name, "random.coin_flip")
    if source is not None:
        chance = source.arguments.get("probability", 0.5)
        chance = chance[0] if isinstance(chance, tuple) else chance
        return [call(f"v2.{transform}", [("p=", number(float(chance)))])]
    return [call(f"v2.{transform}", [("p=", "1.0")])] if context.value(name) else []


def _flip(context: _Context) -> list[Piece]:
    context.only("horizontal", "vertical")
    found = _flips(context, "horizontal", "RandomHorizontalFlip") + _flips(context, "vertical", "RandomVerticalFlip")
    if len(context.node.connections) == 2 and len({edge.node for edge in context.node.connections.values()}) == 1:
        raise _NoEquivalent("both directions are decided together, and torchvision decides each by itself")
    return found


def _rotate(context: _Context) -> list[Piece]:
    context.only("angle", "interp_type", "fill_value", "keep_size")
    angles = context.uniform("angle", 0.0)
    assert angles is not None
    items: list[tuple[str, Piece]] = [("", listing((number(angle, whole=True) for angle in angles), "(", ")"))]
    items += _interpolation(context)
    if not context.value("keep_size"):
        items.append(("expand=", "True"))
    fill = context.value("fill_value")
    if fill is None:
        raise _NoEquivalent("torchvision fills the corners, and does not repeat the border")
    return [call("v2.RandomRotation", [*items, ("fill=", number(float(fill), whole=True))])]


def _crop(context: _Context) -> list[Piece]:
    context.only(*_CROPPING)
    return _cut(context)


def _cut(context: _Context) -> list[Piece]:
    if context.given("crop"):
        size = _size(context.value("crop"))
    elif context.given("crop_h") and context.given("crop_w"):
        size = [int(context.value("crop_h")), int(context.value("crop_w"))]
    else:
        return []
    places = [context.uniform(name, 0.5) for name in ("crop_pos_y", "crop_pos_x")]
    if places == [(0.5, 0.5), (0.5, 0.5)]:
        return [call("v2.CenterCrop", [("", listing(map(str, size)))])]
    if places == [(0.0, 1.0), (0.0, 1.0)]:
        return [call("v2.RandomCrop", [("", listing(map(str, size)))])]
    raise _NoEquivalent("torchvision crops in the middle, or anywhere at random")


def _crop_mirror_normalize(context: _Context) -> list[Piece]:
    context.only(*_CROPPING, "mirror", "mean", "std", "dtype", "output_layout", "scale")
    if context.value("output_layout") not in (None, "CHW"):
        raise _NoEquivalent("torchvision's tensors are CHW")
    dtype = context.value("dtype")
    if dtype not in (dtypes.FLOAT, dtypes.FLOAT16):
        raise _NoEquivalent("torchvision normalizes floats alone")
    steps = _cut(context) + _flips(context, "mirror", "RandomHorizontalFlip")
    scale = float(context.value("scale") or 1.0)
    mean = context.value("mean") or (0.0,)
    std = tuple(item / scale for item in (context.value("std") or (1.0,)))
    steps.append(call("v2.ToDtype", [("", "torch.float32")]))
    if mean != (0.0,) or std != (1.0,):
        imports = Imports()
        values = [("mean=", value_piece(list(mean), imports)), ("std=", value_piece(list(std), imports))]
        steps.append(call("v2.Normalize", values))
    if dtype == dtypes.FLOAT16:
        steps.append(call("v2.ToDtype", [("", "torch.float16")]))
    return steps


def _random_resized_crop(context: _Context) -> list[Piece]:
    context.only("size", "random_area", "random_aspect_ratio", "interp_type", "antialias", "num_attempts")
    items: list[tuple[str, Piece]] = [("", listing(map(str, _size(context.value("size")))))]
    for ours, theirs in (("random_area", "scale="), ("random_aspect_ratio", "ratio=")):
        items.append((theirs, listing((number(float(item)) for item in context.value(ours)), "(", ")")))
    return [call("v2.RandomResizedCrop", [*items, *_interpolation(context)])]


def _gaussian_blur(context: _Context) -> list[Piece]:
    context.only("window_size", "sigma")
    window, sigma = context.value("window_size"), context.uniform("sigma", 0.0)
    window = tuple(item for item in (window if isinstance(window, tuple) else (window,)) if item)
    if not window or sigma is None or sigma[0] <= 0:
        raise _NoEquivalent("torchvision needs a window size and a sigma of more than 0")
    spread = listing([number(sigma[0]), number(sigma[1])], "(", ")")
    return [call("v2.GaussianBlur", [("", listing(str(item) for item in _size(window))), ("sigma=", spread)])]


def _cast(context: _Context) -> list[Piece]:
    context.only("dtype")
    dtype = context.value("dtype")
    if dtype not in _DTYPES:
        raise _NoEquivalent(f"torch has no type like {dtype.name}")
    return [call("v2.ToDtype", [("", f"torch.{_DTYPES[dtype]}")])]


def _color_space(context: _Context) -> list[Piece]:
    context.only("image_type", "output_type")
    if (context.value("image_type"), context.value("output_type")) != (dtypes.RGB, dtypes.GRAY):
        raise _NoEquivalent("torchvision converts from RGB to grey alone")
    return [call("v2.Grayscale", [])]


def _transpose(context: _Context) -> list[Piece]:
    if tuple(context.value("perm") or ()) != (2, 0, 1):
        raise _NoEquivalent("torchvision's tensors are CHW from the start")
    return []


def _brightness(context: _Context) -> list[Piece]:
    context.only("brightness", "dtype")
    if context.value("dtype") not in (None, dtypes.UINT8):
        raise _NoEquivalent("torchvision keeps the type")
    factors = context.uniform("brightness", 1.0)
    assert factors is not None
    return [call("v2.ColorJitter", [("brightness=", listing(map(number, factors), "(", ")"))])]


_TABLE: dict[str, Callable[[_Context], list[Piece]]] = {
    "resize": _resize,
    "flip": _flip,
    "rotate": _rotate,
    "crop": _crop,
    "crop_mirror_normalize": _crop_mirror_normalize,
    "random_resized_crop": _random_resized_crop,
    "gaussian_blur": _gaussian_blur,
    "cast": _cast,
    "color_space_conversion": _color_space,
    "transpose": _transpose,
    "brightness": _brightness,
    "brightness_contrast": _brightness,
}
_STARTS = ("readers.file", "decoders.image", "external_source")


def dumps(graph: Graph, *, name: str = "transform") -> str:
    """A module with the transforms of a graph's first output, and how to use it.

    Parameters
    ----------
    name
        The variable that holds the transforms.

    Raises
    ------
    FormatError
        With the list of all nodes that have no equivalent, and why.
    """
    graph = exported(graph)
    steps: list[Piece] = ["v2.ToImage()"]
    refused = []
    chain, extra = _chain(graph)
    for node in chain:
        if node.op in _STARTS:
            continue
        try:
            if node.op not in _TABLE:
                raise _NoEquivalent("torchvision has no such transform")
            steps += _TABLE[node.op](_Context(graph, node))
        except _NoEquivalent as error:
            refused.append(f"{node.id} ({node.op}): {error}")
    refused += [f"{node.id} ({node.op}): it is not part of one chain of images" for node in extra]
    if refused:
        raise FormatError("torchvision has no equivalent for:\n  " + "\n  ".join(refused))
    reader = next((node for node in chain if node.op == "readers.file"), None)
    return _module(name, steps, reader)


def _chain(graph: Graph) -> tuple[list[Node], list[Node]]:
    """The nodes from the source to the first output, and all others but the random nodes connected to them."""
    chain: list[Node] = []
    name = graph.outputs[0].node if graph.outputs else ""
    while name in graph.nodes and len(chain) <= len(graph.nodes):
        node = graph.nodes[name]
        chain.append(node)
        name = node.inputs[0].node if node.inputs else ""
    inside = {node.id for node in chain}
    steering = {edge.node for node in chain for edge in node.connections.values()}
    return chain[::-1], [node for key, node in graph.nodes.items() if key not in inside and key not in steering]


def _module(name: str, steps: list[Piece], reader: Node | None) -> str:
    body = listing(steps)
    text = [*lines(f"{name} = ", call("v2.Compose", [("", body)]))]
    code = "\n".join(text)
    head = ["import torch"] if "torch." in code else []
    if reader is not None and isinstance(reader.arguments.get("file_root"), str):
        imports = Imports()
        root = value_piece(reader.arguments["file_root"], imports)
        text += ["", *lines("dataset = ", call("datasets.ImageFolder", [("", root), ("transform=", name)]))]
        head.append("from torchvision import datasets")
    head.append("from torchvision.transforms import v2")
    return "\n".join([*head, "", *text, ""])
