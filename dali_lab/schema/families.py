"""The families of operators, in the order of the palette, with what a person sees of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """One folder of the palette.

    Attributes
    ----------
    name
        The name in :attr:`Operator.family`.
    title
        The displayed name.
    color
        A thin mark on each node, as ``#rrggbb``; it must be told from its neighbours in light and in dark.
    icon
        Name of one of the editor's icons.
    summary
        One line on what its operators are for.
    """

    name: str
    title: str
    color: str
    icon: str
    summary: str


FAMILIES: tuple[Family, ...] = (
    Family("readers", "Readers", "#1f9d8b", "readers", "Where samples come from: folders, lists, archives, Python."),
    Family("decoders", "Decoders", "#c98a1b", "decoders", "From encoded bytes to pixels or sound."),
    Family(
        "geometry", "Geometry", "#4a7df0", "geometry", "Size, position, rotation, and what part of a picture is kept."
    ),
    Family("color", "Colour", "#cc4f8f", "color", "Brightness, contrast, hue, saturation and colour spaces."),
    Family(
        "mixing", "Mixing", "#9a8b2f", "mixing", "Samples of a batch made into one another: pairs, patches, mosaics."
    ),
    Family("filters", "Filters", "#8a63d2", "filters", "Blur, noise and other effects on neighbouring pixels."),
    Family("tensor", "Tensor", "#6f7d8f", "tensor", "Type, layout, shape, and putting samples together."),
    Family("arithmetic", "Arithmetic", "#8c7a4f", "arithmetic", "Expressions over samples, element by element."),
    Family("random", "Random", "#4ba053", "random", "Numbers drawn for each sample, to connect to arguments."),
    Family("reductions", "Reductions", "#5f8a9d", "reductions", "Sum, mean, minimum and the like along axes."),
    Family("transforms", "Transforms", "#3d8fd1", "transforms", "Matrices for warps and points."),
    Family("boxes", "Boxes", "#d1693d", "boxes", "Bounding boxes, and crops that respect them."),
    Family("audio", "Audio", "#2b9fb8", "audio", "Spectra and other steps for sound."),
    Family("video", "Video", "#b0574f", "video", "Frames of sequences."),
    Family("io", "Files", "#1f9d8b", "io", "Reading and writing beside the main path."),
)

COMMON = (
    "readers.file", "decoders.image", "resize", "random_resized_crop", "crop", "flip", "rotate", "warp_affine",
    "color_twist", "brightness_contrast", "color_space_conversion", "gaussian_blur", "noise.gaussian", "erase",
    "crop_mirror_normalize", "random.uniform", "random.coin_flip",
)  # fmt: skip
"""Operators that most pipelines are made of, in the order of a pipeline: the top of the palette."""

_BY_NAME = {family.name: family for family in FAMILIES}


def find_family(name: str) -> Family:
    """The family called `name`, or a plain one for a name that an installed package brought along."""
    return _BY_NAME.get(name) or Family(name, name.replace("_", " ").capitalize(), "#8a8f98", name, "")


def palette_name(name: str, title: str = "") -> str:
    """The displayed name of an operator: its title, else the last part of its name in words."""
    return title or name.rsplit(".", 1)[-1].strip("_").replace("_", " ").capitalize()
