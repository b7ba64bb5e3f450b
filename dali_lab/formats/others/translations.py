"""Operators of images as steps that other libraries have too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dali_lab.formats.others import colours, geometry, tones
from dali_lab.formats.others.draws import Choice, Coin, NoEquivalent, Range, Reading, drawn_pair
from dali_lab.formats.others.step import Interpolation, Size, Step
from dali_lab.model import dtypes
from dali_lab.schema.registry import find_operator

_CROPPING = ("crop", "crop_w", "crop_h", "crop_pos_x", "crop_pos_y", "rounding")
_RESIZING = ("size", "resize_shorter", "resize_longer", "resize_x", "resize_y", "mode", "interp_type", "antialias")
_COLOUR_TYPES = (None, dtypes.UINT8)


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
    place = drawn_pair(node.graph, anchor) if anchor else None
    if place is None:
        raise NoEquivalent("{} makes one hole anywhere: draw two numbers for the anchor")
    height, width = _extents(node)
    inside = (abs(place.high + side.low - 1) <= 0.21 or place.high + side.high >= 0.99 for side in (height, width))
    if place.low != 0 or not all(inside):
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
    side = drawn_pair(node.graph, edge)
    if side is None or "range" not in node.graph.nodes[edge.node].arguments:
        raise NoEquivalent("{} draws the two sides of the hole evenly from a range")
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
    return _at_once(steps)


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
    given = [each for each in kinds if each[0] in table and node.given(each[0])]
    return _at_once([kind(_coloured(node, name, default)) for name, default, kind in given])


def _at_once(steps: list[Step]) -> list[Step]:
    """The steps of one node, which cuts values off after the last of them."""
    inner = [
        replace(step, cut=False) if isinstance(step, (colours.Brightness, colours.Contrast)) else step
        for step in steps[:-1]
    ]
    return [*inner, *steps[-1:]]


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


def _difference(node: Reading) -> list[Step]:
    if len(node.node.inputs) != 1 or node.node.arguments.get("a") != 255:
        raise NoEquivalent("{} has no such transform")
    return [colours.Invert()]


def _bits(node: Reading) -> list[Step]:
    return [tones.posterized(node.node)]


def _copied(node: Reading) -> list[Step]:
    return []


TRANSLATIONS: dict[str, Callable[[Reading], list[Step]]] = {
    "decoders.image": _decode,
    "decoders.image_random_crop": _decode_random_crop,
    "decoders.image_crop": _decode_crop,
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
    "math.sub": _difference,
    "math.bitand": _bits,
    "copy": _copied,
}
