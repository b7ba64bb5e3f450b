"""The chain of pictures in a graph as steps that other libraries have too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from dali_lab.formats.others import chance, colours, geometry
from dali_lab.formats.others.draws import Choice, Coin, NoEquivalent, Range, Reading, probability
from dali_lab.formats.others.step import Interpolation, Size, Step
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.model import dtypes
from dali_lab.schema.registry import find_operator

_CROPPING = ("crop", "crop_w", "crop_h", "crop_pos_x", "crop_pos_y", "rounding")
_RESIZING = ("size", "resize_shorter", "resize_longer", "resize_x", "resize_y", "mode", "interp_type", "antialias")
_COLOUR_TYPES = (None, dtypes.UINT8)


@dataclass
class Chain:
    """What a library writes of a graph.

    Attributes
    ----------
    steps
        By node, in the order of the work.
    reader
        The node that reads the files, if it is one that reads a folder.
    refused
        Nodes that no step stands for, with the reason, in which ``{}`` is the name of the library.
    beside
        Nodes that have nothing to do with the pictures, such as those of labels.
    size
        Height and width of all pictures at the end, where they are the same.
    """

    steps: list[tuple[Node, Step]] = field(default_factory=list)
    reader: Node | None = None
    refused: list[tuple[Node, str]] = field(default_factory=list)
    beside: list[Node] = field(default_factory=list)
    size: Size | None = None


def read_chain(graph: Graph) -> Chain:
    """The steps from the source to the first output."""
    chain = Chain()
    used: set[str] = set()
    reader = _Walk(graph, chain, used)
    steps = reader.steps_to(graph.outputs[0]) if graph.outputs else []
    chain.steps = _joined(steps)
    for _, step in chain.steps:
        chain.size = step.resized(chain.size)
    pictures = {name for name in used if graph.nodes[name].op in _DECODERS}
    for name, node in graph.nodes.items():
        if name in used:
            continue
        if pictures and not pictures & set(graph.ancestors([name])):
            chain.beside.append(node)
        else:
            chain.refused.append((node, "it is not part of one chain of images"))
    steering = {edge.node for node in graph.nodes.values() for edge in node.connections.values()}
    steering |= set(graph.ancestors(list(steering)))
    chain.beside = [node for node in chain.beside if node.id not in steering]
    return chain


class _Walk:
    """Goes from an output to the source and collects steps on the way back."""

    def __init__(self, graph: Graph, chain: Chain, used: set[str]) -> None:
        self.graph = graph
        self.chain = chain
        self.used = used

    def steps_to(self, edge: Edge, until: str = "") -> list[tuple[Node, Step]]:
        """The steps that make an edge, from the source on, or from the node `until` on."""
        path: list[Edge] = []
        while edge.node and edge.node != until:
            node = self.graph.nodes[edge.node]
            path.append(edge)
            self.used.add(node.id)
            if node.op == _MERGE:
                split = self._split_of(node)
                edge = self.graph.nodes[split].inputs[0] if split else Edge("")
            else:
                edge = node.inputs[0] if node.inputs else Edge("")
        found: list[tuple[Node, Step]] = []
        size: Size | None = None
        for each in reversed(path):
            node = self.graph.nodes[each.node]
            self.used |= {name for edge in node.connections.values() for name in self._steering(edge)}
            try:
                steps = self._steps(node, size)
            except NoEquivalent as error:
                self.chain.refused.append((node, str(error)))
                continue
            for step in steps:
                found.append((node, step))
                size = step.resized(size)
        return found

    def _steering(self, edge: Edge) -> set[str]:
        """The nodes that give an argument, where they are no pictures."""
        names = {edge.node, *self.graph.ancestors([edge.node])}
        return set() if any(self.graph.nodes[name].op in _DECODERS for name in names) else names

    def _split_of(self, merge: Node) -> str:
        """The split that both branches of a condition begin at, empty where there is no one split."""
        ways = [set(self.graph.ancestors([edge.node])) | {edge.node} for edge in merge.inputs]
        splits = [
            name
            for name in ways[0] & ways[1]
            if self.graph.nodes[name].op == _SPLIT and self.graph.nodes[name].connections == merge.connections
        ]
        return splits[0] if len(splits) == 1 else ""

    def _steps(self, node: Node, size: Size | None) -> list[Step]:
        if node.op == _MERGE:
            return self._condition(node)
        if node.op == _FOLDER:
            self.chain.reader = node
            return []
        if node.op in _STARTS:
            return []
        if node.op not in _OPERATORS:
            raise NoEquivalent("{} has no such transform")
        steps: list[Step] = []
        for step in _OPERATORS[node.op](Reading(self.graph, node)):
            if isinstance(step, geometry.Erase):
                step = replace(step, picture=size)
            variants = step.variants()
            steps.append(chance.OneOf(tuple(variants)) if variants else step)
        return steps

    def _condition(self, merge: Node) -> list[Step]:
        split = self._split_of(merge)
        if not split:
            raise NoEquivalent("its branches do not begin at one picture")
        self.used.add(split)
        share = probability(self.graph, merge.connections["predicate"])
        before = len(self.chain.refused)
        yes, no = (tuple(step for _, step in self.steps_to(edge, split)) for edge in merge.inputs)
        if len(self.chain.refused) > before or not (yes or no):
            return []
        if yes and no:
            raise NoEquivalent("something is done in both branches, and {} does something or nothing")
        return [chance.Sometimes(share, yes) if yes else chance.Sometimes(float(f"{1 - share:.9g}"), no)]


def _joined(steps: list[tuple[Node, Step]]) -> list[tuple[Node, Step]]:
    """A crop of a random area and the resize after it as one step."""
    result: list[tuple[Node, Step]] = []
    for node, step in steps:
        before = result[-1][1] if result else None
        if isinstance(step, geometry.Resize) and isinstance(before, geometry.AreaCrop):
            result[-1] = (node, geometry.ResizedCrop(step.size, before.area, before.ratio, step.interpolation))
        else:
            result.append((node, step))
    return result


def _size(value: Any) -> Size:
    items = value if isinstance(value, tuple) else (value,)
    if len(items) > 2:
        raise NoEquivalent("{} takes images, not volumes")
    height, width = items * 2 if len(items) == 1 else items
    return int(height), int(width)


def _interpolation(node: Reading) -> Interpolation:
    table = find_operator(node.node.op).argument_table
    return Interpolation(node.value("interp_type"), bool(node.value("antialias")) if "antialias" in table else None)


def _resize(node: Reading) -> list[Step]:
    node.only(*_RESIZING)
    return _resized(node)


def _resized(node: Reading) -> list[Step]:
    mode, how = node.value("mode"), _interpolation(node)
    if node.given("resize_longer"):
        return [geometry.ResizeSide(int(node.value("resize_longer")), True, how)]
    if node.given("resize_shorter"):
        return [geometry.ResizeSide(int(node.value("resize_shorter")), False, how)]
    if node.given("size"):
        size = _size(node.value("size"))
    else:
        size = (int(node.value("resize_y")), int(node.value("resize_x")))
    if mode == "not_smaller":
        return [geometry.Cover(size, how)]
    if mode == "not_larger" and size[0] == size[1]:
        return [geometry.ResizeSide(size[0], True, how)]
    if mode not in ("default", "stretch") or not all(size):
        raise NoEquivalent("{} resizes to a size, or by the shorter or the longer side")
    return [geometry.Resize(size, how)]


def _mirrored(node: Reading, name: str, *, vertical: bool) -> list[Step]:
    share = node.chance(name)
    return [geometry.Flip(vertical, share)] if share else []


def _flip(node: Reading) -> list[Step]:
    node.only("horizontal", "vertical")
    if len(node.node.connections) == 2 and len({edge.node for edge in node.node.connections.values()}) == 1:
        raise NoEquivalent("both directions are decided together, and {} decides each by itself")
    return [*_mirrored(node, "horizontal", vertical=False), *_mirrored(node, "vertical", vertical=True)]


def _rotate(node: Reading) -> list[Step]:
    node.only("angle", "interp_type", "fill_value", "keep_size")
    fill = node.value("fill_value")
    how = Interpolation(node.value("interp_type"))
    return [geometry.Rotate(node.draw("angle", 0.0), how, fill, not node.value("keep_size"))]


def _crop(node: Reading) -> list[Step]:
    node.only(*_CROPPING)
    return _cut(node)


def _cut(node: Reading) -> list[Step]:
    if node.given("crop"):
        size = _size(node.value("crop"))
    elif node.given("crop_h") and node.given("crop_w"):
        size = (int(node.value("crop_h")), int(node.value("crop_w")))
    else:
        return []
    places = [node.range(name, 0.5) for name in ("crop_pos_y", "crop_pos_x")]
    if places == [Range(0.5, 0.5)] * 2:
        return [geometry.Crop(size, False)]
    if places == [Range(0.0, 1.0)] * 2:
        if len({node.node.connections[name].node for name in ("crop_pos_y", "crop_pos_x")}) == 1:
            raise NoEquivalent("both positions are one number, and {} draws each by itself")
        return [geometry.Crop(size, True)]
    raise NoEquivalent("{} crops in the middle, or anywhere at random")


def _crop_mirror_normalize(node: Reading) -> list[Step]:
    node.only(*_CROPPING, "mirror", "mean", "std", "dtype", "output_layout", "scale")
    dtype = node.value("dtype")
    if dtype not in (dtypes.FLOAT, dtypes.FLOAT16):
        raise NoEquivalent("{} normalizes floats alone")
    steps = _cut(node) + _mirrored(node, "mirror", vertical=False)
    scale = float(node.value("scale") or 1.0)
    mean = tuple(node.value("mean") or (0.0,))
    deviation = tuple(item / scale for item in (node.value("std") or (1.0,)))
    steps.append(colours.Cast(dtypes.FLOAT))
    if mean != (0.0,) or deviation != (1.0,):
        steps.append(colours.Normalize(mean, deviation))
    if dtype == dtypes.FLOAT16:
        steps.append(colours.Cast(dtype))
    if node.value("output_layout") == "HWC":
        return [*steps, colours.ChannelsLast()]
    return [*steps, colours.ChannelsFirst()]


def _resize_crop_mirror(node: Reading) -> list[Step]:
    node.only(*_RESIZING, *_CROPPING, "mirror")
    return [*_resized(node), *_cut(node), *_mirrored(node, "mirror", vertical=False)]


def _random_area(node: Reading) -> geometry.AreaCrop:
    area, ratio = (Range(*map(float, node.value(name))) for name in ("random_area", "random_aspect_ratio"))
    return geometry.AreaCrop(area, ratio)


def _random_resized_crop(node: Reading) -> list[Step]:
    node.only("size", "random_area", "random_aspect_ratio", "interp_type", "antialias", "num_attempts")
    window = _random_area(node)
    return [geometry.ResizedCrop(_size(node.value("size")), window.area, window.ratio, _interpolation(node))]


def _decode(node: Reading) -> list[Step]:
    kind = node.value("output_type")
    if kind not in (dtypes.RGB, dtypes.GRAY):
        raise NoEquivalent(f"pictures of {{}} are RGB, not {kind.name}")
    return [colours.Gray()] if kind == dtypes.GRAY else []


def _decode_random_crop(node: Reading) -> list[Step]:
    return [*_decode(node), _random_area(node)]


def _decode_crop(node: Reading) -> list[Step]:
    return [*_decode(node), *_cut(node)]


def _erase(node: Reading) -> list[Step]:
    node.only("anchor", "shape", "fill_value", "normalized", "normalized_anchor", "normalized_shape")
    if not (node.value("normalized") or (node.value("normalized_anchor") and node.value("normalized_shape"))):
        raise NoEquivalent("{} places holes by shares of the picture: set normalized")
    anchor = node.node.connections.get("anchor")
    source = node.graph.nodes[anchor.node] if anchor else None
    if source is None or source.op != "random.uniform" or source.arguments.get("shape") != (2,):
        raise NoEquivalent("{} makes one hole anywhere: draw two numbers for the anchor")
    low, high = source.arguments.get("range", (-1.0, 1.0))
    height, width = _extents(node)
    if low != 0 or any(abs(high + extent.low - 1) > 0.21 and high + extent.high < 0.99 for extent in (height, width)):
        raise NoEquivalent("{} makes a hole anywhere in the picture: draw the anchor from 0 to 1 less the shape")
    return [geometry.Erase(height, width, tuple(map(float, node.value("fill_value"))), None)]


def _extents(node: Reading) -> tuple[Range, Range]:
    """Height and width of a hole."""
    edge = node.node.connections.get("shape")
    if edge is None:
        shape = tuple(map(float, node.value("shape")))
        if len(shape) != 2:
            raise NoEquivalent("{} makes one hole")
        return Range(shape[0], shape[0]), Range(shape[1], shape[1])
    source = node.graph.nodes[edge.node]
    if source.op != "random.uniform" or source.arguments.get("shape") != (2,) or "range" not in source.arguments:
        raise NoEquivalent("{} draws the two sides of the hole evenly from a range")
    side = Range(*map(float, source.arguments["range"]))
    return side, side


def _gaussian_blur(node: Reading) -> list[Step]:
    node.only("window_size", "sigma")
    window = node.value("window_size")
    return [colours.Blur(_size(window), node.range("sigma", 0.0))]


def _cast(node: Reading) -> list[Step]:
    node.only("dtype")
    return [colours.Cast(node.value("dtype"))]


def _color_space(node: Reading) -> list[Step]:
    node.only("image_type", "output_type")
    if (node.value("image_type"), node.value("output_type")) != (dtypes.RGB, dtypes.GRAY):
        raise NoEquivalent("{} converts from RGB to grey alone")
    return [colours.Gray()]


def _transpose(node: Reading) -> list[Step]:
    if tuple(node.value("perm") or ()) != (2, 0, 1):
        raise NoEquivalent("{} moves channels to the front alone")
    return [colours.ChannelsFirst()]


def _light(node: Reading) -> list[Step]:
    """The steps of `brightness`, `contrast` and `brightness_contrast`, in DALI's order."""
    node.only("brightness", "brightness_shift", "contrast", "contrast_center", "dtype")
    _same_type(node)
    table = find_operator(node.node.op).argument_table
    steps: list[Step] = []
    if "contrast" in table and node.given("contrast"):
        given = node.node.arguments.get("contrast_center")
        center = 128.0 if given is None else float(given)
        steps.append(colours.Contrast(node.draw("contrast", 1.0), center))
    if "brightness" in table and node.given("brightness"):
        steps.append(colours.Brightness(node.draw("brightness", 1.0)))
    if "brightness_shift" in table and node.given("brightness_shift"):
        steps.append(colours.Shift(node.draw("brightness_shift", 0.0)))
    return steps


def _colour(node: Reading) -> list[Step]:
    """The steps of `hue`, `saturation`, `hsv` and `color_twist`, in DALI's order."""
    node.only("hue", "saturation", "value", "contrast", "brightness", "dtype", "image_type")
    _same_type(node)
    table = find_operator(node.node.op).argument_table
    kinds: list[tuple[str, float, Callable[[Any], Step]]] = [
        ("hue", 0.0, colours.Hue),
        ("saturation", 1.0, colours.Saturation),
        ("value", 1.0, colours.Brightness),
        ("contrast", 1.0, lambda draw: colours.Contrast(draw, 128.0)),
        ("brightness", 1.0, colours.Brightness),
    ]
    return [kind(_coloured(node, name, default)) for name, default, kind in kinds if name in table and node.given(name)]


def _coloured(node: Reading, name: str, default: float) -> Range | Choice | Coin:
    found = node.draw(name, default)
    if isinstance(found, Coin) and name != "saturation":
        return Choice((0.0, 1.0)) if found.probability == 0.5 else node.range(name, default)
    return found


def _same_type(node: Reading) -> None:
    if node.value("dtype") not in _COLOUR_TYPES:
        raise NoEquivalent("{} keeps the type: add a cast")


def _noise(node: Reading) -> list[Step]:
    node.only("mean", "stddev")
    mean = node.range("mean", 0.0)
    if not mean.constant:
        raise NoEquivalent("{} takes the mean of noise as one number")
    return [colours.Noise(mean.low, node.draw("stddev", 1.0))]


def _salt_and_pepper(node: Reading) -> list[Step]:
    node.only("prob", "salt_vs_pepper")
    return [colours.SaltAndPepper(node.range("prob", 0.05), node.range("salt_vs_pepper", 0.5))]


def _compression(node: Reading) -> list[Step]:
    node.only("quality")
    return [colours.Compression(node.draw("quality", 50))]


def _median(node: Reading) -> list[Step]:
    node.only("window_size")
    height, width = _size(node.value("window_size"))
    if height != width:
        raise NoEquivalent("{} has square windows alone")
    return [colours.MedianBlur(height)]


def _equalize(node: Reading) -> list[Step]:
    node.only()
    return [colours.Equalize()]


def _clahe(node: Reading) -> list[Step]:
    node.only("tiles_x", "tiles_y", "clip_limit", "luma_only")
    if not node.value("luma_only"):
        raise NoEquivalent("{} changes the luminance alone")
    tiles = (int(node.value("tiles_x")), int(node.value("tiles_y")))
    return [colours.Clahe(tiles, node.range("clip_limit", 2.0))]


def _copied(node: Reading) -> list[Step]:
    return []


_SPLIT, _MERGE = "_conditional.split", "_conditional.merge"
_FOLDER = "readers.file"
_STARTS = ("external_source", _SPLIT)
_DECODERS: dict[str, Callable[[Reading], list[Step]]] = {
    "decoders.image": _decode,
    "decoders.image_random_crop": _decode_random_crop,
    "decoders.image_crop": _decode_crop,
}
_OPERATORS: dict[str, Callable[[Reading], list[Step]]] = {
    **_DECODERS,
    "resize": _resize,
    "resize_crop_mirror": _resize_crop_mirror,
    "flip": _flip,
    "rotate": _rotate,
    "crop": _crop,
    "crop_mirror_normalize": _crop_mirror_normalize,
    "random_resized_crop": _random_resized_crop,
    "erase": _erase,
    "gaussian_blur": _gaussian_blur,
    "experimental.median_blur": _median,
    "cast": _cast,
    "color_space_conversion": _color_space,
    "transpose": _transpose,
    "brightness": _light,
    "contrast": _light,
    "brightness_contrast": _light,
    "hue": _colour,
    "saturation": _colour,
    "hsv": _colour,
    "color_twist": _colour,
    "noise.gaussian": _noise,
    "noise.salt_and_pepper": _salt_and_pepper,
    "jpeg_compression_distortion": _compression,
    "equalize": _equalize,
    "clahe": _clahe,
    "copy": _copied,
}
